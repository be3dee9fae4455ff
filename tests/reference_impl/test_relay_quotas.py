"""Which push is refused with which code, and which settings a Relay starts with (RLY-009, 010, 012, 015)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_impl.relay.effects import Refusal
from reference_impl.relay.relay import Relay
from reference_impl.relay.settings import RelaySettings, SettingRefusedError
from reference_impl.relay.store import MemoryStore
from tests.reference_impl.relay_bench import DANA, DAY, DEFAULTS, ERIN, START, RelayBench, answers, ids


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"", Refusal.MALFORMED),
        (DANA[:31], Refusal.MALFORMED),
        (DANA, None),
        (DANA + bytes(65_482), None),
        (DANA + bytes(65_483), Refusal.TOO_LARGE),
    ],
)
def test_malformed_and_too_large_at_the_default_limit(body: bytes, refusal: Refusal | None) -> None:
    bench = RelayBench()
    assert answers(bench.push_body(body)) == [refusal]
    assert len(list(bench.store.all_blobs())) == (refusal is None)


def test_an_inbox_is_full_by_count_and_frees_by_ack() -> None:
    bench = RelayBench(RelaySettings(max_blobs_per_inbox=2))
    bench.open("s1", DANA)
    sent = ids(bench.push(DANA, b"a") + bench.push(DANA, b"b"), "s1")
    assert answers(bench.push(DANA, b"c")) == [Refusal.INBOX_FULL]
    assert answers(bench.push(ERIN, b"c")) == [None]
    bench.ack("s1", sent[0])
    assert answers(bench.push(DANA, b"c")) == [None]


def test_an_inbox_is_full_by_envelope_bytes_and_frees_by_expiry() -> None:
    bench = RelayBench(RelaySettings(max_bytes_per_inbox=10, ttl=DAY))
    assert answers(bench.push(DANA, bytes(10))) == [None]
    assert answers(bench.push(DANA, b"x")) == [Refusal.INBOX_FULL]
    assert answers(bench.push(DANA, b"")) == [None]
    bench.advance(DAY)
    assert answers(bench.push(DANA, bytes(11))) == [Refusal.INBOX_FULL]
    assert answers(bench.push(DANA, bytes(10))) == [None]


def test_the_rate_is_a_token_bucket_for_each_recipient() -> None:
    bench = RelayBench(RelaySettings(push_rate_per_second=4, push_burst=2))
    assert [answers(bench.push(DANA, b"a"))[0] for _ in range(3)] == [None, None, Refusal.RATE_LIMITED]
    assert answers(bench.push(ERIN, b"a")) == [None]
    bench.advance(249)
    assert answers(bench.push(DANA, b"a")) == [Refusal.RATE_LIMITED]
    bench.advance(1)
    assert [answers(bench.push(DANA, b"a"))[0] for _ in range(2)] == [None, Refusal.RATE_LIMITED]
    bench.advance(DAY)
    assert [answers(bench.push(DANA, b"a"))[0] for _ in range(3)] == [None, None, Refusal.RATE_LIMITED]


def test_what_is_refused_costs_no_token() -> None:
    bench = RelayBench(RelaySettings(push_burst=1, push_rate_per_second=1, max_envelope_bytes=1))
    bench.store.failing = True
    assert answers(bench.push(DANA, b"a")) == [Refusal.UNAVAILABLE]
    bench.store.failing = False
    assert answers(bench.push(DANA, b"aa")) == [Refusal.TOO_LARGE]
    assert answers(bench.push(DANA, b"a")) == [None]
    assert answers(bench.push(DANA, b"a")) == [Refusal.RATE_LIMITED]


def test_the_default_burst_and_rate() -> None:
    bench = RelayBench()
    codes = [answers(bench.push(DANA, b""))[0] for _ in range(501)]
    assert codes == [None] * 500 + [Refusal.RATE_LIMITED]
    bench.advance(50)
    assert answers(bench.push(DANA, b"")) == [None]


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        (replace(DEFAULTS, ttl=30 * DAY + 1), "ttl"),
        (replace(DEFAULTS, ttl=0), "ttl"),
        (replace(DEFAULTS, max_blobs_per_inbox=-1), "max_blobs_per_inbox"),
        (replace(DEFAULTS, max_blobs_per_inbox=0), "max_blobs_per_inbox"),
        (replace(DEFAULTS, max_bytes_per_inbox=-1), "max_bytes_per_inbox"),
        (replace(DEFAULTS, max_bytes_per_inbox=0), "max_bytes_per_inbox"),
        (replace(DEFAULTS, max_envelope_bytes=-1), "max_envelope_bytes"),
        (replace(DEFAULTS, max_envelope_bytes=0), "max_envelope_bytes"),
        (replace(DEFAULTS, push_rate_per_second=-1), "push_rate_per_second"),
        (replace(DEFAULTS, push_rate_per_second=0), "push_rate_per_second"),
        (replace(DEFAULTS, push_burst=-1), "push_burst"),
        (replace(DEFAULTS, push_burst=0), "push_burst"),
        (replace(DEFAULTS, max_sessions_per_device=0), "max_sessions_per_device"),
    ],
)
def test_the_relay_refuses_to_start(settings: RelaySettings, refused: str) -> None:
    with pytest.raises(SettingRefusedError, match=f"refuses to start: {refused} ") as caught:
        Relay(MemoryStore(), settings, START)
    assert caught.value.setting == refused


def test_the_defaults_are_the_specs_and_exactly_thirty_days_start() -> None:
    assert RelayBench().settings == RelaySettings(
        30 * DAY,
        10_000,
        268_435_456,
        65_482,
        push_rate_per_second=20,
        push_burst=500,
        max_sessions_per_device=4,
    )
