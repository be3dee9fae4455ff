"""Control messages at the reference Device: manifests, pairing, removal, Leave, Destroy Group (CTL-001 to 006)."""

from __future__ import annotations

import json

import pytest

from reference_impl.device import effects as fx
from reference_impl.device.errors import ApiError
from reference_impl.device.options import Options
from reference_impl.durability import Crash
from reference_impl.wire.content import Content, Manifest, Member, PairingToken, Tag
from tests.reference_impl.device_bench import (
    ALICE,
    BOB,
    CAROL,
    CODEC,
    DAVE,
    DAY,
    GENESIS,
    MALLORY,
    SECOND,
    Bench,
    hash_of,
    manifest_body,
)

UNAUTHORIZED = [fx.Unauthorized()]
PARENT = hash_of(GENESIS)


def deliver_manifest(bench: Bench, body: bytes, sender: Member = BOB) -> str:
    return bench.deliver_message(bench.content(sender, body, tag=Tag.GROUP_MANIFEST))


def deliver_revoke(bench: Bench, sender: Member = BOB) -> str:
    return bench.deliver_message(bench.content(sender, b"", tag=Tag.REVOKE))


def members(bench: Bench) -> set[str]:
    return {member.name for member in bench.device.status().members}


def read(push_body: bytes) -> Manifest:
    return CODEC.decode_manifest(push_body, 1)


# Incoming manifests


def test_a_greater_manifest_of_a_member_counts_at_once() -> None:
    bench = Bench().ready()
    bench.events()
    blob = deliver_manifest(bench, manifest_body(ALICE, BOB, DAVE, version=2, parent=PARENT))
    assert bench.acks() == [blob]
    assert bench.events() == [fx.MembersChanged((BOB, DAVE))]
    bench.deliver_message(bench.content(CAROL))
    assert bench.issues() == UNAUTHORIZED
    bench.handle(bench.content(DAVE))
    assert bench.send()
    assert {push.recipient for push in bench.pushes()} == {BOB.noise_pub, DAVE.noise_pub}


def forged() -> bytes:
    fields = json.loads(manifest_body(ALICE, BOB, version=2, parent=PARENT))
    return json.dumps({**fields, "signature": "plain:forged"}).encode()


REFUSED_MANIFESTS = {
    "older": manifest_body(ALICE, BOB, version=0),
    "the same": GENESIS,
    "another group": manifest_body(ALICE, BOB, version=2, group="cd" * 32),
    "issued by a stranger": manifest_body(ALICE, BOB, MALLORY, version=2, issuer=MALLORY),
    "a jump too far": manifest_body(ALICE, BOB, version=2**32 + 2, parent=PARENT),
    "the last version": manifest_body(ALICE, BOB, version=2**64 - 1, parent=PARENT),
    "badly signed": forged(),
}


@pytest.mark.parametrize("kind", sorted(REFUSED_MANIFESTS))
def test_a_manifest_that_does_not_count_changes_nothing(kind: str) -> None:
    bench = Bench().ready()
    blob = deliver_manifest(bench, REFUSED_MANIFESTS[kind])
    assert bench.acks() == [blob]
    assert bench.issues() == UNAUTHORIZED
    assert members(bench) == {"bob", "carol"}


def test_the_largest_step_is_taken() -> None:
    bench = Bench().ready()
    deliver_manifest(bench, manifest_body(ALICE, BOB, version=2**32 + 1, parent=PARENT))
    assert members(bench) == {"bob"}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff"])
@pytest.mark.parametrize("tag", [Tag.GROUP_MANIFEST, Tag.PAIR])
def test_a_control_message_that_cannot_be_read_is_malformed(body: bytes, tag: Tag) -> None:
    bench = Bench().ready()
    bench.do(bench.device.start_pairing)
    blob = bench.deliver_message(bench.content(body=body, tag=tag))
    assert bench.acks() == [blob]
    assert bench.issues() == [fx.Unreadable("malformed")]


def test_on_a_tie_the_lower_hash_wins_in_either_order() -> None:
    rivals = [
        manifest_body(ALICE, BOB, CAROL, DAVE, version=2, parent=PARENT),
        manifest_body(ALICE, BOB, version=2, parent=PARENT),
    ]
    winner = min(rivals, key=hash_of)
    for order in (rivals, rivals[::-1]):
        bench = Bench().ready()
        for body in order:
            deliver_manifest(bench, body)
        manifest = bench.device.state.manifest
        assert manifest is not None
        assert manifest.hash == hash_of(winner)


def test_an_accepted_manifest_survives_a_restart() -> None:
    bench = Bench().ready()
    deliver_manifest(bench, manifest_body(ALICE, DAVE, BOB, version=2, parent=PARENT))
    bench.start()
    assert members(bench) == {"dave", "bob"}


def test_killed_before_the_commit_a_manifest_is_applied_when_it_comes_again() -> None:
    bench = Bench().ready()
    body = manifest_body(ALICE, BOB, version=2, parent=PARENT)
    bench.store.counter.arm(1, "before")
    with pytest.raises(Crash):
        deliver_manifest(bench, body)
    bench.start()
    bench.ready()
    assert members(bench) == {"bob", "carol"}
    blob = deliver_manifest(bench, body)
    assert bench.acks() == [blob]
    assert members(bench) == {"bob"}


# Removal


def test_a_removal_wipes_everything_and_the_device_starts_over() -> None:
    bench = Bench().ready()
    handled = bench.content()
    bench.handle(handled)
    bench.send()
    bench.effects.clear()
    old_session = bench.session
    blob = deliver_manifest(bench, manifest_body(BOB, CAROL, version=2, parent=PARENT))
    assert bench.take(fx.DeliverAck) == [fx.DeliverAck(old_session, blob)]
    assert bench.statuses() == [fx.StatusChanged("notJoined", "removed")]
    assert bench.issues() == []
    me = bench.device.status().me
    assert me.noise_pub != ALICE.noise_pub
    assert me.signing_pub != ALICE.signing_pub
    assert bench.store.outbox() == []
    assert bench.store.handled_until(handled.message_id) is None
    (asked,) = bench.take(fx.OpenReceiveSession)
    assert asked.device == me.noise_pub
    bench.start()
    assert bench.device.status().me == me
    assert bench.device.next_timer() is None


def test_a_concurrent_manifest_without_this_device_is_no_removal() -> None:
    bench = Bench().ready()
    deliver_manifest(bench, manifest_body(BOB, DAVE, version=2, parent="00" * 32))
    status = bench.device.status()
    assert status.status == "member"
    assert status.me == ALICE
    assert members(bench) == {"bob", "dave"}


def test_a_member_is_removed_by_a_manifest_that_it_gets_too() -> None:
    bench = Bench().ready()
    bench.do(lambda: bench.device.remove(CAROL.signing_pub))
    pushes = bench.pushes()
    assert {push.recipient for push in pushes} == {BOB.noise_pub, CAROL.noise_pub}
    manifest = read(pushes[0].content.body)
    assert (manifest.version, manifest.parent) == (2, PARENT)
    assert manifest.members == (ALICE, BOB)
    assert members(bench) == {"bob"}
    with pytest.raises(ApiError, match="memberNotFound"):
        bench.device.remove(CAROL.signing_pub)


def test_membership_calls_need_a_member() -> None:
    bench = Bench(manifest=None)
    for call in (bench.device.leave, bench.device.destroy_group, lambda: bench.device.remove("x")):
        with pytest.raises(ApiError, match="notMember status=notJoined"):
            call()


# Leave and Destroy Group


def test_a_leave_is_pushed_to_all_and_ends_in_a_wipe_across_restarts() -> None:
    bench = Bench().ready()
    bench.send()
    bench.effects.clear()
    bench.do(bench.device.leave)
    assert bench.statuses() == [fx.StatusChanged("leaving", None)]
    with pytest.raises(ApiError, match="notMember status=leaving"):
        bench.device.send(b"")
    with pytest.raises(ApiError, match="notMember status=leaving"):
        bench.device.leave()
    push = bench.push(BOB)
    assert push.content.tag == Tag.GROUP_MANIFEST
    assert read(push.content.body).members == (BOB, CAROL)
    bench.answer(push, fx.Accepted())
    bench.start()
    bench.connect()
    bench.events()
    bench.answer(bench.push(CAROL), fx.Accepted())
    assert bench.statuses() == [fx.StatusChanged("notJoined", "left")]
    assert bench.device.status().me != ALICE


def test_a_leaving_device_runs_no_handler() -> None:
    bench = Bench().ready()
    bench.do(bench.device.leave)
    bench.deliver_message(bench.content())
    assert bench.seen() == []


def test_a_handler_that_runs_while_the_group_ends_leaves_no_trace_in_the_new_table() -> None:
    bench = Bench().ready()
    content = bench.content()
    bench.deliver_message(content)
    call = bench.call()
    bench.do(bench.device.leave)
    bench.accept_all()
    bench.answer_sessions()
    bench.end_handler(call)
    assert bench.acks() == []
    assert bench.store.handled_until(content.message_id) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_the_wipe_a_leave_still_ends_once(when: str) -> None:
    bench = Bench().ready()
    bench.do(bench.device.leave)
    pushes = bench.pushes()
    bench.answer(pushes[0], fx.Accepted())
    bench.store.counter.arm(1, "before" if when == "before" else "after")
    with pytest.raises(Crash):
        bench.answer(pushes[1], fx.Accepted())
    bench.start()
    bench.connect()
    assert len(bench.accept_all()) == (1 if when == "before" else 0)
    assert bench.device.status().status == "notJoined"


def test_alone_in_a_group_a_leave_ends_at_once() -> None:
    bench = Bench(manifest=manifest_body(ALICE, issuer=ALICE)).ready()
    bench.do(bench.device.leave)
    assert [status.status for status in bench.statuses()] == ["leaving", "notJoined"]


def test_control_messages_never_expire_and_carry_the_time_of_each_seal() -> None:
    bench = Bench()
    bench.do(bench.device.leave)
    bench.advance(90 * DAY)
    bench.connect()
    push = bench.push(BOB)
    assert push.content.sender_timestamp == bench.now
    bench.answer(push, fx.Lost())
    bench.advance(SECOND)
    again = bench.push(BOB)
    assert again.content.sender_timestamp == bench.now
    assert again.content.message_id == push.content.message_id
    assert bench.issues() == []


def test_destroy_group_tells_every_member_then_wipes() -> None:
    bench = Bench().ready()
    bench.send()
    bench.effects.clear()
    bench.do(bench.device.destroy_group)
    bench.do(bench.device.destroy_group)
    pushes = bench.accept_all()
    assert [(push.recipient, push.content.tag) for push in pushes] == [
        (BOB.noise_pub, Tag.REVOKE),
        (CAROL.noise_pub, Tag.REVOKE),
    ]
    assert bench.statuses() == [
        fx.StatusChanged("destroying", None),
        fx.StatusChanged("notJoined", "destroyed"),
    ]
    assert bench.issues() == []


def test_destroy_group_abandons_a_leave() -> None:
    bench = Bench()
    bench.do(bench.device.leave)
    bench.do(bench.device.destroy_group)
    bench.connect()
    assert {push.content.tag for push in bench.accept_all()} == {Tag.REVOKE}
    assert bench.statuses()[-1] == fx.StatusChanged("notJoined", "destroyed")


@pytest.mark.parametrize("leaving", [False, True])
def test_a_revoke_is_forwarded_once_to_all_but_its_author(leaving: bool) -> None:
    bench = Bench().ready()
    if leaving:
        bench.do(bench.device.leave)
        bench.effects.clear()
    blob = deliver_revoke(bench)
    assert bench.acks() == [blob]
    assert bench.device.status().status == "destroying"
    second = deliver_revoke(bench, CAROL)
    assert bench.acks() == [second]
    assert bench.issues() == []
    assert [push.recipient for push in bench.accept_all()] == [CAROL.noise_pub]
    assert bench.device.status().status == "notJoined"


def test_a_revoke_of_a_former_member_counts_and_of_a_stranger_does_not() -> None:
    bench = Bench().ready()
    deliver_manifest(bench, manifest_body(ALICE, BOB, version=2, parent=PARENT))
    deliver_revoke(bench, MALLORY)
    assert bench.issues() == UNAUTHORIZED
    assert bench.device.status().status == "member"
    deliver_revoke(bench, CAROL)
    assert bench.device.status().status == "destroying"


def test_killed_before_the_commit_a_revoke_is_applied_when_it_comes_again() -> None:
    bench = Bench().ready()
    bench.store.counter.arm(1, "before")
    with pytest.raises(Crash):
        deliver_revoke(bench)
    bench.start()
    bench.ready()
    assert bench.device.status().status == "member"
    deliver_revoke(bench)
    assert bench.device.status().status == "destroying"


def test_a_device_without_a_manifest_drops_everything() -> None:
    bench = Bench(manifest=None).ready()
    for content in (
        bench.content(),
        bench.content(tag=Tag.REVOKE, body=b""),
        bench.content(tag=Tag.GROUP_MANIFEST, body=GENESIS),
    ):
        blob = bench.deliver_message(content)
        assert bench.acks() == [blob]
        assert bench.issues() == UNAUTHORIZED
    assert bench.device.status().status == "notJoined"


# Pairing, the side that admits


def pair(bench: Bench, joiner: Member, secret: str) -> Content:
    body = CODEC.encode_pair(joiner.noise_pub, joiner.signing_pub, secret)
    return bench.content(joiner, body, tag=Tag.PAIR)


def secret_of(token: str) -> str:
    return CODEC.decode_token(token).secret


def join_requests(bench: Bench) -> list[str]:
    return [event.id for event in bench.events() if isinstance(event, fx.JoinRequest)]


def test_a_pair_under_the_open_window_is_one_request_however_often_it_comes() -> None:
    bench = Bench().ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    for _ in range(2):
        blob = bench.deliver_message(pair(bench, DAVE, secret))
        assert bench.acks() == [blob]
    assert join_requests(bench) == [DAVE.signing_pub]
    assert bench.issues() == []


def test_an_accepted_request_makes_a_manifest_and_closes_the_window() -> None:
    bench = Bench().ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    bench.deliver_message(pair(bench, DAVE, secret))
    bench.do(lambda: bench.device.accept(DAVE.signing_pub))
    pushes = bench.accept_all()
    assert {push.recipient for push in pushes} == {BOB.noise_pub, CAROL.noise_pub, DAVE.noise_pub}
    manifest = read(pushes[0].content.body)
    assert (manifest.version, manifest.parent, manifest.issued_by) == (2, PARENT, ALICE.signing_pub)
    assert len(bench.device.status().members) == 3
    with pytest.raises(ApiError, match="pairingClosed"):
        bench.device.accept(DAVE.signing_pub)
    bench.deliver_message(pair(bench, MALLORY, secret))
    assert bench.issues() == UNAUTHORIZED


@pytest.mark.parametrize("closes", ["cancel", "new window", "restart", "never opened"])
def test_a_pair_under_a_spent_secret_is_dropped(closes: str) -> None:
    bench = Bench().ready()
    secret = "unknown" if closes == "never opened" else secret_of(bench.do(bench.device.start_pairing))
    if closes == "cancel":
        bench.do(bench.device.cancel_pairing)
    if closes == "new window":
        bench.do(bench.device.start_pairing)
    if closes == "restart":
        bench.start()
        bench.ready()
    blob = bench.deliver_message(pair(bench, DAVE, secret))
    assert bench.acks() == [blob]
    assert bench.issues() == UNAUTHORIZED
    assert join_requests(bench) == []


def test_a_pair_for_keys_of_somebody_else_is_dropped() -> None:
    bench = Bench().ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    body = CODEC.encode_pair(DAVE.noise_pub, DAVE.signing_pub, secret)
    bench.deliver_message(bench.content(MALLORY, body, tag=Tag.PAIR))
    assert bench.issues() == UNAUTHORIZED


def test_the_first_accept_creates_the_group() -> None:
    bench = Bench(manifest=None).ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    bench.deliver_message(pair(bench, DAVE, secret))
    bench.events()
    bench.do(lambda: bench.device.accept(DAVE.signing_pub))
    assert bench.statuses() == [fx.StatusChanged("member", "created")]
    manifest = read(bench.push(DAVE).content.body)
    assert (manifest.version, manifest.parent, len(manifest.members)) == (1, "", 2)


def test_a_full_group_admits_nobody() -> None:
    crowd = [Member(f"{n:064x}", f"{n + 1000:064x}", f"m{n}") for n in range(31)]
    bench = Bench(manifest=manifest_body(ALICE, *crowd, issuer=ALICE)).ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    bench.deliver_message(pair(bench, DAVE, secret))
    with pytest.raises(ApiError, match="groupFull max=32"):
        bench.device.accept(DAVE.signing_pub)


# Pairing, the side that joins

TOKEN = CODEC.encode_token(PairingToken(BOB.noise_pub, BOB.signing_pub, "s3cret"))


def joining() -> Bench:
    bench = Bench(manifest=None).ready()
    bench.do(lambda: bench.device.join(TOKEN))
    return bench


def test_a_join_pushes_a_pair_and_waits_for_its_manifest_across_restarts() -> None:
    bench = joining()
    assert bench.statuses() == [fx.StatusChanged("pendingJoin", None)]
    push = bench.push(BOB)
    assert push.content.tag == Tag.PAIR
    assert CODEC.proves(CODEC.decode_pair(push.content.body), "s3cret")
    bench.answer(push, fx.Accepted())
    bench.start()
    bench.ready()
    assert bench.pushes() == []
    bench.events()
    blob = deliver_manifest(bench, GENESIS)
    assert bench.acks() == [blob]
    assert bench.statuses() == [fx.StatusChanged("member", "joined")]
    assert members(bench) == {"bob", "carol"}
    with pytest.raises(ApiError, match="alreadyInGroup"):
        bench.device.join(TOKEN)


REFUSED_FIRST_MANIFESTS = {
    "issued by another": (manifest_body(ALICE, BOB, CAROL, issuer=CAROL), BOB),
    "sealed by another": (manifest_body(ALICE, BOB, CAROL, issuer=BOB), CAROL),
    "without the joiner": (manifest_body(BOB, CAROL, issuer=BOB), BOB),
    "with one key only": (
        manifest_body(Member("1" * 64, ALICE.signing_pub, "alice"), BOB, issuer=BOB),
        BOB,
    ),
}


@pytest.mark.parametrize("kind", sorted(REFUSED_FIRST_MANIFESTS))
def test_only_the_manifest_that_the_token_promises_ends_a_pending_join(kind: str) -> None:
    body, sender = REFUSED_FIRST_MANIFESTS[kind]
    bench = joining()
    deliver_manifest(bench, body, sender)
    assert bench.issues() == UNAUTHORIZED
    assert bench.device.status().status == "pendingJoin"


def test_a_cancelled_join_takes_its_pair_back_and_accepts_no_manifest() -> None:
    bench = Bench(manifest=None)
    bench.do(lambda: bench.device.join(TOKEN))
    bench.do(bench.device.cancel_join)
    bench.do(bench.device.cancel_join)
    assert [status.status for status in bench.statuses()] == ["pendingJoin", "notJoined"]
    bench.ready()
    assert bench.pushes() == []
    deliver_manifest(bench, GENESIS)
    assert bench.issues() == UNAUTHORIZED


def test_a_second_join_replaces_the_first() -> None:
    bench = Bench(manifest=None)
    bench.do(lambda: bench.device.join(TOKEN))
    other = CODEC.encode_token(PairingToken(CAROL.noise_pub, CAROL.signing_pub, "other"))
    bench.do(lambda: bench.device.join(other))
    bench.ready()
    assert [push.recipient for push in bench.pushes()] == [CAROL.noise_pub]
    deliver_manifest(bench, GENESIS)
    assert bench.device.status().status == "pendingJoin"


OWN = CODEC.encode_token(PairingToken(ALICE.noise_pub, ALICE.signing_pub, "own"))


@pytest.mark.parametrize("token", ["", "nonsense", "{}", OWN])
def test_a_token_that_is_none_fails(token: str) -> None:
    bench = Bench(manifest=None)
    with pytest.raises(ApiError, match="invalidPairingToken"):
        bench.device.join(token)
    assert bench.device.status().status == "notJoined"


def test_a_removed_device_can_pair_again() -> None:
    bench = Bench().ready()
    deliver_manifest(bench, manifest_body(BOB, CAROL, version=2, parent=PARENT))
    bench.answer_sessions()
    bench.do(lambda: bench.device.join(TOKEN))
    me = bench.device.status().me
    deliver_manifest(bench, manifest_body(me, BOB, version=3, parent=PARENT))
    assert bench.device.status().status == "member"
    bench.handle(bench.content())


# Replays and upgrades


def test_replaying_control_messages_in_any_order_changes_no_state() -> None:
    bench = Bench().ready()
    secret = secret_of(bench.do(bench.device.start_pairing))
    dave_pairs = pair(bench, DAVE, secret)
    bench.deliver_message(dave_pairs)
    bench.do(lambda: bench.device.accept(DAVE.signing_pub))
    current = bench.device.state.manifest
    assert current is not None
    carol_leaves = bench.content(
        CAROL,
        manifest_body(*(m for m in current.members if m != CAROL), version=3, parent=current.hash, issuer=CAROL),
        tag=Tag.GROUP_MANIFEST,
    )
    bench.deliver_message(carol_leaves)
    before = (bench.device.state.manifest, bench.device.status())
    old = bench.content(BOB, GENESIS, tag=Tag.GROUP_MANIFEST)
    for content in (carol_leaves, dave_pairs, old, carol_leaves):
        blob = bench.deliver_message(content)
        assert blob in bench.acks()
    assert (bench.device.state.manifest, bench.device.status()) == before


def test_an_upgrade_signs_a_queued_manifest_anew() -> None:
    bench = Bench()
    bench.do(lambda: bench.device.remove(CAROL.signing_pub))
    bench.start(Options(end_to_end_version=2))
    bench.connect()
    push = bench.push(BOB)
    manifest = CODEC.decode_manifest(push.content.body, 2)
    assert manifest.signature_valid
    assert bench.device.state.manifest == manifest
    bench.start(Options(end_to_end_version=2))
    assert bench.device.state.manifest == manifest


@pytest.mark.parametrize("threw_first", [True, False])
def test_on_its_way_out_a_handler_that_threw_is_not_called_again(threw_first: bool) -> None:
    """CTL-014, and a Revoke behind that message is still taken."""
    bench = Bench().ready()
    bench.deliver_message(bench.content(BOB, b"hi"))
    call = bench.call()
    if threw_first:
        bench.end_handler(call, "the app threw")
    bench.do(bench.device.leave)
    if not threw_first:
        bench.end_handler(call, "the app threw")
    bench.advance(DAY)
    assert bench.calls() == []
    deliver_revoke(bench)
    assert bench.device.status().status == "destroying"
