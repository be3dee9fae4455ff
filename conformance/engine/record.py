"""The history of a run: everything that the kit did and saw, in order, as the promises judge it and reports show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing that happened. `at` is in ms since the start of the run, `step` the step during which it did."""

    SOURCE: ClassVar[str] = "kit"
    """Who does such a thing, where it is always the same one."""
    TARGET: ClassVar[str] = ""
    """Who it is done to, where it is always the same one; empty for what concerns nobody else."""

    at: int
    step: int

    @property
    def source(self) -> str:
        """Who did it, as the lifeline of a sequence diagram."""
        return self.SOURCE

    @property
    def target(self) -> str:
        """Who it was done to; the source itself for what concerns nobody else."""
        return self.TARGET or self.source

    def describe(self) -> str:
        """One line for the reader of a report."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that does not hold: the clause, what is wrong in words, and the record that shows it."""

    clause: str
    reason: str
    record: Record


History = Sequence[Record]
Promise = Callable[[History], Iterator[Breach]]
