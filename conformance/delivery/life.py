"""What every system under test goes through: time passes, and it is killed. And what a kill leaves uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.durations import by_words
from conformance.engine.record import History, Record

EPOCH = 1_893_456_000_000
"""When each run starts, in Unix ms: 2030-01-01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMoved(Record):
    """Virtual time passed. `by` is in ms."""

    SOURCE: ClassVar[str] = "clock"

    by: int

    def describe(self) -> str:
        return f"+{by_words(self.by)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed(Record):
    """The process of `who` was killed, or died at the crash point it was given.

    `settled` is how long the history was when the system was last known to be quiet: what came later may be undone.
    """

    who: str
    settled: int
    at_write: bool = False

    @property
    def source(self) -> str:
        return self.who

    def describe(self) -> str:
        return "dies at a durable write" if self.at_write else "SIGKILL"


def uncertain(history: History) -> set[int]:
    """The positions of records that a crash may have undone."""
    found: set[int] = set()
    for position, record in enumerate(history):
        if isinstance(record, Killed):
            found.update(range(record.settled, position))
    return found
