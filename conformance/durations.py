"""Durations as vectors write them, read and written: `0s`, `250ms`, `60d+1ms`, `30d-1s`, `-40d`."""

from __future__ import annotations

import re

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_CHAIN = re.compile(r"(-?)([0-9]{1,15}(?:ms|[smhd])(?:[+-][0-9]{1,15}(?:ms|[smhd])){0,15})\Z", re.ASCII)
_LARGEST = 2**53 - 1


def parse_duration(text: str) -> int:
    """The duration in milliseconds.

    A minus at the very front turns the whole chain around: `-60d+1ms` is one millisecond more than 60 days
    before, so that a vector may write `-$age` for any age.
    Raises `ValueError` with a sentence for anything else.
    """
    chain = _CHAIN.match(text)
    if not chain:
        raise ValueError(f"{_shown(text)} is not a duration; write numbers with ms, s, m, h or d, such as 60d+1ms.")
    back, parts = chain.groups()
    total = sum(
        (-1 if sign == "-" else 1) * int(number) * _MILLISECONDS[unit]
        for sign, number, unit in re.findall(r"([+-]?)([0-9]+)(ms|[smhd])", parts)
    )
    if abs(total) > _LARGEST:
        raise ValueError(f"the duration {_shown(text)} is longer than {_LARGEST} ms.")
    return -total if back else total


def by_words(milliseconds: int) -> str:
    """Write a duration as vectors do, such as `60d+1ms`."""
    if milliseconds < 0:
        return "-" + by_words(-milliseconds)
    parts = []
    for unit, size in sorted(_MILLISECONDS.items(), key=lambda each: -each[1]):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "+".join(parts) or "0s"


def _shown(text: str) -> str:
    return "`" + (text if len(text) <= 40 else text[:39] + "…").replace("\n", "\\n") + "`"
