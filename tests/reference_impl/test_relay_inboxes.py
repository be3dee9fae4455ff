"""What is stored for whom, in which order, for how long (RLY-001, 003, 006 to 008, 011, 014, 016, 021)."""

from __future__ import annotations

import pytest

from reference_impl.durability import Crash
from reference_impl.relay.effects import Refusal
from reference_impl.relay.settings import TTL_CEILING, RelaySettings
from tests.reference_impl.relay_bench import (
    DANA,
    DAY,
    ERIN,
    SECOND,
    START,
    RelayBench,
    answers,
    delivered,
    ids,
)


def test_an_inbox_is_delivered_in_arrival_order_byte_for_byte_across_restarts() -> None:
    bench = RelayBench()
    envelopes = [b"", b"\x00", bytes(range(256)), b"same", b"same"]
    for envelope in envelopes:
        bench.push(DANA, envelope)
    bench.restart()
    assert delivered(bench.open("s1", DANA), "s1") == envelopes


def test_ack_deletes_only_the_named_blob() -> None:
    bench = RelayBench()
    for envelope in (b"a", b"b", b"c"):
        bench.push(DANA, envelope)
    sent = ids(bench.open("s1", DANA), "s1")
    assert bench.ack("s1", sent[1]) == []
    assert delivered(bench.open("s2", DANA), "s2") == [b"a", b"c"]


def test_ack_of_another_devices_blob_looks_like_an_unknown_id_and_deletes_nothing() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    (blob_id,) = ids(bench.open("s1", DANA), "s1")
    bench.open("t1", ERIN)
    assert bench.ack("t1", blob_id) == bench.ack("t1", blob_id + 1) == []
    assert ids(bench.open("s2", DANA), "s2") == [blob_id]


def test_unknown_repeated_and_late_acks_are_harmless() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    (blob_id,) = ids(bench.open("s1", DANA), "s1")
    bench.ack("s1", blob_id)
    bench.ack("s1", blob_id)
    bench.ack("s1", 2**64 - 1)
    assert delivered(bench.push(DANA, b"b"), "s1") == [b"b"]
    bench.relay.close_receive_session("s1")
    bench.ack("s1", blob_id + 1)
    assert delivered(bench.open("s2", DANA), "s2") == [b"b"]


def test_blob_ids_are_not_used_again_after_a_restart() -> None:
    bench = RelayBench()
    bench.open("s1", DANA)
    first = ids(bench.push(DANA, b"a"), "s1")
    bench.ack("s1", first[0])
    bench.restart()
    bench.open("s1", DANA)
    assert ids(bench.push(DANA, b"b"), "s1") != first


def test_a_blob_expires_when_the_ttl_has_passed_since_its_arrival_and_nobody_is_told() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    bench.open("s1", DANA)
    bench.advance(TTL_CEILING - 1)
    bench.restart()
    assert delivered(bench.open("s2", DANA), "s2") == [b"a"]
    assert bench.relay.next_timer() == START + TTL_CEILING
    assert bench.advance(1) == []
    assert bench.open("s3", DANA) == []
    assert bench.relay.next_timer() is None
    assert list(bench.store.all_blobs()) == []


def test_each_blob_has_its_own_ttl_and_a_restart_reaps_what_expired_meanwhile() -> None:
    bench = RelayBench(RelaySettings(ttl=DAY))
    bench.push(DANA, b"a")
    bench.advance(SECOND)
    bench.push(ERIN, b"b")
    bench.now += DAY - SECOND
    bench.restart()
    assert [blob.envelope for blob in bench.store.all_blobs()] == [b"b"]
    assert bench.relay.next_timer() == bench.now + SECOND


def test_what_expired_is_not_delivered_even_if_it_could_not_be_deleted() -> None:
    bench = RelayBench(RelaySettings(ttl=DAY))
    bench.push(DANA, b"a")
    bench.store.failing = True
    bench.advance(DAY)
    assert bench.open("s1", DANA) == []
    retry = bench.relay.next_timer()
    assert retry is not None
    assert retry > bench.now
    bench.store.failing = False
    bench.advance(retry - bench.now)
    assert list(bench.store.all_blobs()) == []
    assert bench.relay.next_timer() is None


def test_a_store_failure_is_refused_stores_nothing_and_earlier_blobs_stay() -> None:
    bench = RelayBench()
    bench.open("s1", DANA)
    bench.push(DANA, b"a")
    bench.store.failing = True
    refused = bench.push(DANA, b"b")
    assert (answers(refused), delivered(refused, "s1")) == ([Refusal.UNAVAILABLE], [])
    bench.store.failing = False
    assert answers(bench.push(DANA, b"c")) == [None]
    bench.restart()
    assert delivered(bench.open("s2", DANA), "s2") == [b"a", b"c"]


def test_an_ack_that_cannot_be_stored_leaves_the_blob_for_the_next_session() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    (blob_id,) = ids(bench.open("s1", DANA), "s1")
    bench.store.failing = True
    assert bench.ack("s1", blob_id) == []
    bench.store.failing = False
    assert ids(bench.open("s2", DANA), "s2") == [blob_id]


def test_a_push_is_durable_before_its_ack() -> None:
    bench = RelayBench()
    bench.store.counter.arm(1, "before")
    with pytest.raises(Crash):
        bench.push(DANA, b"a")
    assert bench.relay.take_effects() == []
    bench.restart()
    assert bench.open("s1", DANA) == []

    bench.store.counter.arm(1, "after")
    with pytest.raises(Crash):
        bench.push(DANA, b"b")
    bench.restart()
    assert delivered(bench.open("s1", DANA), "s1") == [b"b"]
