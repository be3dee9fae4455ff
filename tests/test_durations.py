# ruff: noqa: E501 - a row of a table is one line
"""Durations: every form that vectors use, and a sentence for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.durations import parse_duration

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0s", 0),
        ("250ms", 250),
        ("1s", 1_000),
        ("5m", 300_000),
        ("1h+30m", 5_400_000),
        ("59d", 59 * DAY),
        ("60d+1ms", 60 * DAY + 1),
        ("30d-1s", 30 * DAY - 1_000),
        ("1d-1h-1m-1s-1ms", DAY - 3_661_001),
        ("-40d", -40 * DAY),
        ("-60d+1ms", -(60 * DAY + 1)),
        ("-30d-1s", -(30 * DAY - 1_000)),
        ("365d", 365 * DAY),
    ],
)
def test_a_duration_is_milliseconds(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", "0", "5", "s", "5 s", "5s ", " 5s", "5s\n", "1.5s", "+5s", "--5s", "5s+", "5s++1s", "5s1s", "5S", "5min", "1y", "٣s", "5s+-1s"],
)  # fmt: skip
def test_anything_else_is_a_sentence(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^`.*` is not a duration; write numbers with ms, s, m, h or d, such as 60d\+1ms\.$"
    ):
        parse_duration(text)


def test_what_no_clock_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the duration `999999999999999d` is longer than 9007199254740991 ms\.$"):
        parse_duration("999999999999999d")


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["ms", "s", "m", "h", "d"])), min_size=1, max_size=6))
def test_a_sum_is_the_sum_of_its_parts_and_minus_turns_it_around(parts: list[tuple[int, str]]) -> None:
    chain = "+".join(f"{number}{unit}" for number, unit in parts)
    assert parse_duration(chain) == sum(parse_duration(f"{number}{unit}") for number, unit in parts)
    assert parse_duration(f"-{chain}") == -parse_duration(chain)
