"""The receiving side of the reference Device: RCV, VER, DDP and RPW clauses, and the crash points."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_impl.device import effects as fx
from reference_impl.device.errors import ApiError
from reference_impl.device.options import Options
from reference_impl.durability import Crash
from reference_impl.wire.content import Content
from reference_impl.wire.json_types import Json
from tests.reference_impl.device_bench import BOB, CAROL, DAY, MALLORY, SECOND, Bench

MALFORMED = fx.Unreadable("malformed")
EXPIRED = fx.Unreadable("expired")


def test_nothing_is_pulled_before_the_handler_is_there() -> None:
    bench = Bench()
    bench.do(bench.device.relay_connected)
    assert bench.take(fx.OpenReceiveSession) == []
    bench.do(bench.device.on_message)
    (asked,) = bench.take(fx.OpenReceiveSession)
    assert asked.device == bench.device.state.me.noise_pub


def test_a_second_handler_is_refused_and_a_cancelled_one_makes_room() -> None:
    bench = Bench()
    handle = bench.device.on_message()
    with pytest.raises(ApiError, match="messageHandlerAlreadySet"):
        bench.device.on_message()
    bench.device.cancel(handle)
    assert bench.device.on_message() != handle


def test_notices_wait_for_their_first_listener() -> None:
    bench = Bench(listening=False)
    bench.do(bench.device.relay_connected)
    bench.do(bench.device.on_message)
    bench.answer_sessions()
    bench.deliver("garbage")
    assert bench.take(fx.NotifyEvent) == []
    assert bench.take(fx.NotifyIssue) == []
    bench.do(bench.device.on_event)
    bench.do(bench.device.on_delivery_issue)
    assert bench.events() == [fx.ConnectionChanged(fx.Connection("connected"))]
    assert bench.issues() == [MALFORMED]


def test_blobs_are_handled_one_at_a_time_in_order() -> None:
    bench = Bench().ready()
    contents = [bench.content(body=b"1"), bench.content(CAROL, b"2"), bench.content(body=b"3")]
    blobs = [bench.deliver_message(content) for content in contents]
    for content, blob in zip(contents, blobs, strict=True):
        call = bench.call()
        assert (call.message.id, call.message.body) == (content.message_id, content.body)
        assert call.message.sender.signing_pub == content.author_pub
        assert bench.acks() == []
        bench.end_handler(call)
        assert bench.acks() == [blob]


def test_a_handler_that_throws_gets_five_attempts_and_the_next_blob_follows() -> None:
    bench = Bench().ready()
    blob, other = bench.deliver_message(bench.content()), bench.deliver_message(bench.content(CAROL))
    for attempt in range(5):
        call = bench.call()
        assert bench.seen() == []
        bench.end_handler(call, f"attempt {attempt}")
        bench.run_timers(0 if attempt == 4 else 16 * SECOND)
    assert bench.issues() == [fx.HandlerGaveUp(call.message.id, "attempt 4")]
    assert bench.acks() == [blob]
    bench.end_handler(bench.call())
    assert bench.acks() == [other]


def test_a_message_given_up_on_counts_as_handled() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.deliver_message(content)
    for _ in range(5):
        bench.end_handler(bench.call(), "no")
        bench.run_timers(16 * SECOND)
    bench.deliver_message(content)
    assert bench.calls() == []


def test_a_handler_that_never_ends_stalls_delivery_for_good() -> None:
    bench = Bench().ready()
    bench.deliver_message(bench.content())
    bench.deliver_message(bench.content(CAROL))
    bench.call()
    bench.run_timers(90 * DAY)
    assert bench.seen() == []


def test_a_session_that_went_while_the_handler_ran_gets_no_ack_and_the_next_one_does() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.deliver_message(content)
    call = bench.call()
    bench.disconnect()
    bench.connect()
    again = bench.deliver_message(content)
    assert bench.calls() == []
    bench.end_handler(call)
    assert bench.calls() == []
    assert bench.take(fx.DeliverAck) == [fx.DeliverAck(bench.session, again)]


def test_after_cancel_nothing_is_taken_until_there_is_a_handler_again() -> None:
    bench = Bench()
    handle = bench.device.on_message()
    bench.connect()
    bench.deliver_message(bench.content(body=b"1"))
    bench.do(lambda: bench.device.cancel(handle))
    bench.deliver_message(bench.content(body=b"2"))
    bench.end_handler(bench.call(), "threw")
    bench.run_timers(DAY)
    assert bench.seen() == []
    bench.do(bench.device.on_message)
    call = bench.call()
    assert call.message.body == b"1"
    bench.end_handler(call)
    assert bench.call().message.body == b"2"


def test_a_session_that_was_lost_is_asked_for_again_after_a_backoff() -> None:
    bench = Bench()
    bench.do(bench.device.on_message)
    bench.do(bench.device.relay_connected)
    (asked,) = bench.take(fx.OpenReceiveSession)
    bench.answer_session(asked, fx.Lost())
    assert bench.take(fx.OpenReceiveSession) == []
    assert bench.device.next_timer() == bench.now + SECOND
    bench.advance(SECOND)
    (asked,) = bench.take(fx.OpenReceiveSession)
    bench.answer_session(asked, fx.Unsupported(2, 2))
    assert bench.device.status().connection == fx.Connection("relayVersionUnsupported", 2, 2)
    assert bench.device.next_timer() is None


def sealed(bench: Bench, content: Content, **changes: Json) -> Json:
    """An Envelope with some of its outer fields changed afterwards."""
    envelope = bench.seal(content)
    assert isinstance(envelope, dict)
    return {**envelope, **changes}


def inside(bench: Bench, content: Content, **changes: Json) -> Json:
    envelope = bench.seal(content)
    assert isinstance(envelope, dict)
    assert isinstance(envelope["sealed"], dict)
    return {**envelope, "sealed": {**envelope["sealed"], **changes}}


Spoil = Callable[[Bench, Content], Json]

UNUSABLE: dict[str, tuple[Spoil, fx.Issue]] = {
    "not an envelope": (lambda _bench, _content: "garbage", MALFORMED),
    "garbage inside": (lambda bench, content: sealed(bench, content, sealed="garbage"), MALFORMED),
    "bad signature": (lambda bench, content: inside(bench, content, signature="forged"), MALFORMED),
    "swapped ephemeral": (lambda bench, content: sealed(bench, content, ephemeral_pub="f" * 64), MALFORMED),
    "readdressed": (
        lambda bench, content: {
            **dict(bench.seal(content, to=BOB.noise_pub)),  # type: ignore[arg-type]
            "recipient_pub": bench.device.state.me.noise_pub,
        },
        MALFORMED,
    ),
    "unknown tag": (lambda bench, _content: bench.seal(bench.content(tag=9)), MALFORMED),
    "tag 0": (lambda bench, _content: bench.seal(bench.content(tag=0)), MALFORMED),
    "a stranger": (lambda bench, _content: bench.seal(bench.content(MALLORY)), fx.Unauthorized()),
    "oneself": (
        lambda bench, _content: bench.seal(bench.content(bench.device.state.me)),
        fx.Unauthorized(),
    ),
    "older": (lambda bench, content: bench.seal(content, version=0), fx.Unreadable("senderOutdated")),
    "too old": (lambda bench, _content: bench.seal(bench.content(sent=-60 * DAY - 1)), EXPIRED),
    # Two things wrong: the check that comes first is the one reported (RCV-012).
    "older and garbage": (
        lambda bench, content: sealed(bench, content, end_to_end_version=0, sealed="x"),
        fx.Unreadable("senderOutdated"),
    ),
    "bad signature and too old": (
        lambda bench, _content: inside(bench, bench.content(sent=-61 * DAY), signature="forged"),
        MALFORMED,
    ),
    "too old and a stranger": (
        lambda bench, _content: bench.seal(bench.content(MALLORY, sent=-61 * DAY)),
        EXPIRED,
    ),
    "too old and an unknown tag": (
        lambda bench, _content: bench.seal(bench.content(sent=-61 * DAY, tag=9)),
        EXPIRED,
    ),
    "relabelled": (
        lambda bench, content: {**dict(bench.seal(content, version=2)), "end_to_end_version": 1},  # type: ignore[arg-type]
        MALFORMED,
    ),
}


@pytest.mark.parametrize("kind", sorted(UNUSABLE))
def test_what_is_unusable_is_acked_dropped_reported_and_does_not_spoil_a_genuine_copy(kind: str) -> None:
    spoil, issue = UNUSABLE[kind]
    bench = Bench().ready()
    content = bench.content()
    blob = bench.deliver(spoil(bench, content))
    assert bench.acks() == [blob]
    assert bench.issues() == [issue]
    assert bench.calls() == []
    bench.handle(content)
    assert bench.issues() == []


def test_a_duplicate_in_whatever_seal_is_acked_without_a_word() -> None:
    bench = Bench().ready()
    content = bench.content()
    same = bench.seal(content)
    bench.deliver(same)
    bench.end_handler(bench.call())
    bench.acks()
    copies = [bench.deliver(same), bench.deliver_message(content)]
    assert bench.acks() == copies
    assert bench.seen() == []


def test_the_same_body_twice_is_two_messages() -> None:
    bench = Bench().ready()
    bench.handle(bench.content(body=b"same"))
    bench.handle(bench.content(body=b"same"))
    assert len(bench.acks()) == 2


# Versions


def hold(bench: Bench, count: int) -> list[str]:
    return [
        bench.deliver({**dict(bench.seal(bench.content(), version=2)), "sealed": "unknown"})  # type: ignore[arg-type]
        for _ in range(count)
    ]


def test_a_newer_version_is_held_whatever_it_holds_and_blocks_nothing() -> None:
    bench = Bench().ready()
    hold(bench, 1)
    assert bench.issues() == [fx.HeldForUpgrade(2)]
    assert bench.acks() == []
    blob = bench.handle(bench.content())
    assert bench.acks() == [blob]


def test_a_hundred_are_held_and_one_more_drops_the_oldest() -> None:
    bench = Bench().ready()
    held = hold(bench, 100)
    assert bench.acks() == []
    bench.issues()
    hold(bench, 1)
    assert bench.acks() == held[:1]
    assert bench.issues() == [fx.HeldForUpgrade(2), fx.Unreadable("droppedWhileHeld")]


def test_held_blobs_delivered_again_do_not_count_twice() -> None:
    bench = Bench().ready()
    envelopes = [bench.seal(bench.content(), version=2) for _ in range(100)]
    for _ in range(3):
        for number, envelope in enumerate(envelopes):
            bench.deliver(envelope, f"held-{number}")
        bench.disconnect()
        bench.connect()
    assert bench.acks() == []


def test_after_the_upgrade_held_blobs_are_handled_once_each() -> None:
    bench = Bench().ready()
    content = bench.content()
    held = bench.seal(content, version=2)
    bench.deliver(held)
    bench.start(Options(end_to_end_version=2))
    bench.ready()
    blob = bench.deliver(held)
    bench.end_handler(bench.call())
    assert bench.acks() == [blob]
    bench.deliver(held)
    assert bench.calls() == []


# Dedup retention and the Replay Window


@pytest.mark.parametrize(
    ("sent", "handled"), [(-60 * DAY, True), (-60 * DAY - 1, False), (1, True), (10_000 * DAY, True)]
)
def test_the_replay_window_has_a_sharp_past_edge_and_no_future_one(sent: int, handled: bool) -> None:
    bench = Bench().ready()
    bench.deliver_message(bench.content(sent=sent))
    assert len(bench.calls()) == handled
    assert bench.issues() == ([] if handled else [EXPIRED])


def test_the_clock_decides_when_the_blob_is_judged_not_when_it_came() -> None:
    bench = Bench().ready()
    bench.deliver_message(bench.content(CAROL))
    bench.deliver_message(bench.content(sent=-60 * DAY))
    bench.advance(1)
    bench.end_handler(bench.call())
    assert bench.issues() == [EXPIRED]


@pytest.mark.parametrize(
    ("sent", "wait"),
    [(0, 59 * DAY), (0, 60 * DAY), (30 * DAY, 89 * DAY), (30 * DAY, 90 * DAY)],
)
def test_a_handled_message_is_known_as_long_as_a_copy_can_pass_the_window(sent: int, wait: int) -> None:
    bench = Bench().ready()
    content = bench.content(sent=sent)
    bench.handle(content)
    bench.advance(wait)
    bench.handle(bench.content(CAROL))
    bench.acks()
    copy = bench.deliver_message(content)
    assert bench.acks() == [copy]
    assert bench.seen() == []
    bench.advance(60 * DAY + sent - wait + 1)
    bench.deliver_message(content)
    assert bench.issues() == [EXPIRED]


def test_retention_counts_from_the_handling_where_that_is_later() -> None:
    bench = Bench().ready()
    content = bench.content(sent=-10 * DAY)
    bench.handle(content)
    assert bench.store.handled_until(content.message_id) == bench.now + 60 * DAY
    bench.advance(60 * DAY + 1)
    bench.handle(bench.content(CAROL))
    assert bench.store.handled_until(content.message_id) is None


def test_ten_thousand_later_messages_evict_nothing() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.handle(content)
    for _ in range(10_000):
        bench.handle(bench.content(CAROL))
        bench.effects.clear()
    bench.deliver_message(content)
    assert bench.calls() == []


# Crash points


def test_killed_before_the_dedup_write_the_handler_runs_again() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.deliver_message(content)
    call = bench.call()
    bench.store.counter.arm(1, "before")
    with pytest.raises(Crash):
        bench.end_handler(call)
    bench.start()
    bench.ready()
    bench.handle(content)
    assert len(bench.acks()) == 1


def test_killed_between_the_dedup_write_and_the_ack_it_is_acked_and_not_handled() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.deliver_message(content)
    call = bench.call()
    bench.store.counter.arm(1, "after")
    with pytest.raises(Crash):
        bench.end_handler(call)
    assert bench.acks() == []
    bench.start()
    bench.ready()
    blob = bench.deliver_message(content)
    assert bench.acks() == [blob]
    assert bench.calls() == []
