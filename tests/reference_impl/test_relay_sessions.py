"""Who is sent what, and how often (RLY-004, 005, 012, 013, 020, 022)."""

from __future__ import annotations

import pytest

from reference_impl.relay.effects import Deliver, PushAnswered
from reference_impl.relay.sessions import UnknownSessionError
from reference_impl.relay.settings import RelaySettings
from tests.reference_impl.relay_bench import DANA, DAY, ERIN, RelayBench, answers, delivered, ended, ids


def test_a_blob_is_sent_once_a_session_and_an_arrival_sends_only_itself() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    assert delivered(bench.open("s1", DANA), "s1") == [b"a"]
    assert delivered(bench.push(DANA, b"b"), "s1") == [b"b"]
    assert bench.advance(DAY) == []


def test_unacked_blobs_come_again_on_a_new_session_and_only_they() -> None:
    bench = RelayBench()
    for envelope in (b"a", b"b", b"c"):
        bench.push(DANA, envelope)
    sent = ids(bench.open("s1", DANA), "s1")
    bench.ack("s1", sent[1])
    bench.relay.close_receive_session("s1")
    again = bench.open("s2", DANA)
    assert ids(again, "s2") == [sent[0], sent[2]]
    assert delivered(again, "s2") == [b"a", b"c"]


def test_a_second_session_beside_the_first_gets_each_unacked_blob_once() -> None:
    bench = RelayBench()
    bench.push(DANA, b"a")
    bench.open("s1", DANA)
    assert delivered(bench.open("s2", DANA), "s2") == [b"a"]
    arrival = bench.push(DANA, b"b")
    assert (delivered(arrival, "s1"), delivered(arrival, "s2")) == ([b"b"], [b"b"])
    bench.ack("s2", ids(arrival, "s2")[0])
    assert delivered(bench.open("s3", DANA), "s3") == [b"a"]


def test_a_session_too_many_ends_the_oldest_of_that_device() -> None:
    bench = RelayBench(RelaySettings(max_sessions_per_device=2))
    bench.open("other", ERIN)
    bench.open("s1", DANA)
    bench.open("s2", DANA)
    assert ended(bench.open("s3", DANA)) == ["s1"]
    arrival = bench.push(DANA, b"a")
    assert {effect.session for effect in arrival if isinstance(effect, Deliver)} == {"s2", "s3"}


def test_a_device_that_never_acks_delays_nobody_else() -> None:
    bench = RelayBench()
    bench.open("s1", DANA)
    bench.open("t1", ERIN)
    for _ in range(50):
        bench.push(DANA, b"a")
    assert delivered(bench.push(ERIN, b"b"), "t1") == [b"b"]


def test_one_answer_a_push_before_the_delivery_and_named_by_its_number() -> None:
    bench = RelayBench()
    bench.open("s1", DANA)
    effects = bench.push(DANA, b"a")
    assert effects[0] == PushAnswered("p", 1, None)
    assert [type(effect) for effect in effects] == [PushAnswered, Deliver]


def test_a_push_session_outlives_a_refusal_and_ends_when_closed() -> None:
    bench = RelayBench()
    bench.push_body(b"x" * 31)
    assert answers(bench.push(DANA, b"a")) == [None]
    bench.relay.close_push_session("p")
    with pytest.raises(UnknownSessionError, match="no open Push Session 'p'"):
        bench.push(DANA, b"b")


def test_what_is_acked_or_expired_is_forgotten_by_the_session() -> None:
    bench = RelayBench(RelaySettings(ttl=DAY))
    bench.open("s1", DANA)
    (acked,) = ids(bench.push(DANA, b"a"), "s1")
    bench.push(DANA, b"b")
    bench.ack("s1", acked)
    bench.advance(DAY)
    session = bench.relay.sessions.receiving("s1")
    assert session is not None
    assert session.sent == set()
