"""The sending side of the reference Device: SND-001 to SND-025."""

from __future__ import annotations

from typing import cast

import pytest

from reference_impl.device import effects as fx
from reference_impl.device.errors import ApiError
from reference_impl.device.options import Options
from reference_impl.durability import Crash, When
from reference_impl.wire.message_id import message_id
from tests.reference_impl.device_bench import ALICE, BOB, CAROL, DAY, SECOND, START, Bench

INBOX_FULL = fx.Refused("inbox_full")


def test_a_send_is_pushed_to_every_other_member_under_one_message_id() -> None:
    bench = Bench().ready()
    sent = bench.send(b"hello")
    pushes = bench.pushes()
    assert [push.recipient for push in pushes] == [BOB.noise_pub, CAROL.noise_pub]
    assert {push.content.message_id for push in pushes} == {sent}
    assert {push.content.body for push in pushes} == {b"hello"}
    assert all(push.sealed.signature_valid for push in pushes)
    assert sent == message_id(ALICE.signing_pub, 1)


def test_a_send_before_the_connection_waits_for_it() -> None:
    bench = Bench()
    sent = bench.send()
    assert bench.pushes() == []
    bench.connect()
    assert [push.content.message_id for push in bench.pushes()] == [sent, sent]


@pytest.mark.parametrize(("chosen", "limit"), [(None, 61_440), (10, 10), (61_441, 61_440), (10**9, 61_440), (0, 0)])
def test_the_limit_in_force_passes_and_one_byte_more_fails_before_anything_is_written(
    chosen: int | None, limit: int
) -> None:
    bench = Bench(options=Options(max_payload_bytes=chosen)).ready()
    commits = bench.store.counter.commits
    with pytest.raises(ApiError, match="payloadTooLarge") as failure:
        bench.send(bytes(limit + 1))
    assert failure.value.extras == {"max": limit}
    assert bench.store.counter.commits == commits
    bench.send(bytes(limit))
    assert len(bench.pushes()) == 2


def test_a_device_without_a_group_cannot_send() -> None:
    bench = Bench(manifest=None)
    with pytest.raises(ApiError, match="notMember") as failure:
        bench.send()
    assert failure.value.extras == {"status": "notJoined"}


def test_after_close_every_call_fails() -> None:
    bench = Bench().ready()
    device = bench.device
    device.close()
    calls = (
        device.on_message, device.on_event, device.on_delivery_issue, device.status, device.close,
        device.start_pairing, device.cancel_pairing, device.cancel_join, device.leave, device.destroy_group,
        lambda: device.send(b""), lambda: device.cancel("x"), lambda: device.accept("x"),
        lambda: device.join("x"), lambda: device.remove("x"),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(ApiError, match="closed"):
            call()
    device.relay_connected()
    device.relay_disconnected()
    device.advance(START + 90 * DAY)
    assert device.take_effects() == []
    assert device.next_timer() is None


def test_an_acked_entry_is_never_pushed_again() -> None:
    bench = Bench().ready()
    bench.send()
    bench.accept_all()
    bench.disconnect()
    bench.connect()
    bench.start()
    bench.connect()
    assert bench.pushes() == []
    assert bench.store.outbox() == []


@pytest.mark.parametrize("answer", [fx.Lost(), *(fx.Refused(code) for code in (
    "inbox_full", "rate_limited", "unavailable", "internal_error"))])  # fmt: skip
def test_a_push_without_success_is_retried_with_the_same_message_and_no_issue(
    answer: fx.PushAnswer,
) -> None:
    bench = Bench().ready()
    bench.send()
    first = bench.push(BOB)
    bench.answer(first, answer)
    assert bench.pushes(BOB) == []
    bench.advance(SECOND - 1)
    assert bench.pushes(BOB) == []
    bench.advance(1)
    second = bench.push(BOB)
    assert second.content == first.content
    assert second.envelope != first.envelope
    assert bench.issues() == []


def test_retries_back_off_from_one_second_to_five_minutes_and_stay_there() -> None:
    bench = Bench().ready()
    bench.send()
    delays = []
    for _ in range(12):
        bench.answer(bench.push(BOB), INBOX_FULL)
        timer = bench.device.next_timer()
        assert timer is not None
        delays.append((timer - bench.now) // SECOND)
        bench.advance(timer - bench.now)
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_a_reconnect_retries_at_once_and_starts_the_backoff_over() -> None:
    bench = Bench().ready()
    bench.send()
    for _ in range(4):
        bench.answer(bench.push(BOB), INBOX_FULL)
        bench.run_timers(10 * SECOND)
    bench.answer(bench.push(CAROL), fx.Lost())
    bench.disconnect()
    assert bench.device.next_timer() == START + 30 * DAY
    bench.pushes()
    bench.connect()
    bench.answer(bench.push(BOB), INBOX_FULL)
    assert bench.device.next_timer() == bench.now + SECOND


def test_a_push_in_flight_when_the_connection_goes_is_pushed_again() -> None:
    bench = Bench().ready()
    bench.send()
    late = bench.push(BOB)
    bench.disconnect()
    bench.answer(late, fx.Accepted())
    bench.connect()
    assert bench.push(BOB).content == late.content


def test_a_success_resets_the_backoff_for_what_is_behind() -> None:
    bench = Bench().ready()
    bench.send(b"1")
    bench.send(b"2")
    for _ in range(3):
        bench.answer(bench.push(BOB), INBOX_FULL)
        bench.run_timers(4 * SECOND)
    bench.answer(bench.push(BOB), fx.Accepted())
    bench.answer(bench.push(BOB), INBOX_FULL)
    assert bench.device.next_timer() == bench.now + SECOND


def test_the_head_of_a_lane_blocks_that_lane_and_no_other() -> None:
    bench = Bench().ready()
    for body in (b"1", b"2", b"3"):
        bench.send(body)
    bench.answer(bench.push(BOB), INBOX_FULL)
    for body in (b"1", b"2", b"3"):
        push = bench.push(CAROL)
        assert push.content.body == body
        bench.answer(push, fx.Accepted())
    assert bench.pushes() == []
    bench.advance(SECOND)
    assert [push.content.body for push in bench.accept_all()] == [b"1", b"2", b"3"]


@pytest.mark.parametrize(("code", "reason"), [("too_large", "tooLarge"), ("malformed", "malformed")])
def test_a_permanent_refusal_is_reported_once_and_lets_the_rest_go(code: str, reason: fx.Undeliverable) -> None:
    bench = Bench().ready()
    first, second = bench.send(b"1"), bench.send(b"2")
    bench.answer(bench.push(BOB), fx.Refused(code))
    assert bench.issues() == [fx.SendFailed(first, reason)]
    assert bench.push(BOB).content.message_id == second
    bench.start()
    bench.connect()
    assert [push.content.message_id for push in bench.pushes(BOB)] == [second]
    assert [push.content.message_id for push in bench.pushes(CAROL)] == [first]
    assert bench.issues() == []


@pytest.mark.parametrize("connected", [True, False])
def test_a_sync_entry_expires_thirty_days_after_its_send(connected: bool) -> None:
    bench = Bench()
    if connected:
        bench.ready()
    sent = bench.send()
    bench.pushes()
    bench.advance(30 * DAY - 1)
    assert bench.issues() == []
    bench.advance(1)
    assert bench.issues() == [fx.SendFailed(sent, "expired"), fx.SendFailed(sent, "expired")]
    assert bench.store.outbox() == []
    assert bench.device.next_timer() is None
    bench.connect()
    assert bench.pushes() == []


def test_expiry_counts_from_the_send_across_restarts_and_retries() -> None:
    bench = Bench().ready()
    sent = bench.send()
    bench.advance(29 * DAY)
    bench.start()
    bench.connect()
    bench.answer(bench.push(BOB), INBOX_FULL)
    bench.pushes()
    bench.now += DAY
    bench.start()
    assert bench.issues() == [fx.SendFailed(sent, "expired")] * 2


def test_a_late_answer_to_an_expired_push_changes_nothing_and_the_next_goes() -> None:
    bench = Bench().ready()
    bench.send(b"1")
    push = bench.push(BOB)
    bench.advance(DAY)
    bench.send(b"2")
    bench.advance(29 * DAY)
    assert bench.push(BOB).content.body == b"2"
    bench.answer(push, fx.Accepted())
    assert [entry.body for entry in bench.store.outbox()] == [b"2", b"2"]


def test_every_push_of_a_sync_message_carries_the_time_of_its_send() -> None:
    bench = Bench()
    bench.send()
    bench.advance(DAY)
    bench.connect()
    bench.answer(bench.push(BOB), fx.Lost())
    bench.advance(SECOND)
    bench.now += DAY
    bench.start(Options(end_to_end_version=2))
    bench.connect()
    assert {push.content.sender_timestamp for push in bench.pushes()} == {START}


def test_an_upgrade_seals_the_whole_queue_anew_in_order() -> None:
    bench = Bench()
    sent = [bench.send(b"1"), bench.send(b"2")]
    bench.start(Options(end_to_end_version=2))
    bench.connect()
    pushes = [push for push in bench.accept_all() if push.recipient == BOB.noise_pub]
    assert [push.content.message_id for push in pushes] == sent
    assert {cast("dict[str, int]", push.envelope)["end_to_end_version"] for push in pushes} == {2}
    assert all(push.sealed.signature_valid for push in pushes)


def test_an_unsupported_transport_version_stops_everything_until_the_next_connect() -> None:
    bench = Bench().ready()
    sent = bench.send()
    bench.events()
    bench.answer(bench.push(BOB), fx.Unsupported(2, 3))
    refused = fx.Connection("relayVersionUnsupported", 2, 3)
    assert bench.device.status().connection == refused
    assert bench.events() == [fx.ConnectionChanged(refused)]
    bench.answer(bench.push(CAROL), fx.Unsupported(2, 3))
    assert bench.events() == []
    bench.run_timers(DAY)
    assert (bench.pushes(), bench.issues()) == ([], [])
    bench.start(Options(transport_version=2))
    bench.connect()
    assert {effect.transport_version for effect in bench.effects if isinstance(effect, fx.Push)} == {2}
    assert [push.content.message_id for push in bench.pushes()] == [sent, sent]


def test_what_a_run_left_goes_out_before_what_is_sent_after_the_start() -> None:
    bench = Bench().ready()
    bench.send(b"1")
    bench.send(b"2")
    bench.effects.clear()
    bench.start()
    bench.send(b"3")
    bench.connect()
    to_bob = [push for push in bench.accept_all() if push.recipient == BOB.noise_pub]
    assert [push.content.body for push in to_bob] == [b"1", b"2", b"3"]


def test_identical_bytes_are_two_messages() -> None:
    bench = Bench()
    assert bench.send(b"same") != bench.send(b"same")


@pytest.mark.parametrize(("when", "pushed"), [("before", []), ("after", [b"cut", b"cut"])])
def test_a_send_cut_off_is_absent_or_whole_and_its_sequence_is_not_used_again(when: When, pushed: list[bytes]) -> None:
    bench = Bench()
    bench.store.counter.arm(1, when)
    with pytest.raises(Crash):
        bench.send(b"cut")
    bench.start()
    bench.send(b"next")
    bench.connect()
    pushes = bench.accept_all()
    assert [push.content.body for push in pushes] == [*pushed, b"next", b"next"]
    by_sequence = {push.content.sequence: push.content.body for push in pushes}
    assert len(by_sequence) == len(set(by_sequence.values()))


def test_two_sends_share_nothing_that_the_relay_can_read() -> None:
    bench = Bench().ready()
    bench.send()
    bench.answer(bench.push(BOB), fx.Lost())
    bench.advance(SECOND)
    keys = [cast("dict[str, str]", effect.envelope)["ephemeral_pub"] for effect in bench.take(fx.Push)]
    assert len(keys) == len(set(keys)) == 2


def test_a_refusal_of_one_recipient_leaves_the_others_alone() -> None:
    bench = Bench().ready()
    sent = bench.send()
    bench.answer(bench.push(BOB), fx.Refused("too_large"))
    bench.answer(bench.push(CAROL), fx.Accepted())
    assert bench.issues() == [fx.SendFailed(sent, "tooLarge")]
    assert bench.store.outbox() == []
