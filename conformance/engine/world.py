"""What a role brings to the engine: the world that the kit plays around one system under test.

The engine knows steps, settling, closed worlds and promises. Verbs, expectations and promises are the role's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from conformance.engine.argument import Argument
from conformance.engine.record import Promise, Record
from conformance.system import System
from conformance.vector import Case


@dataclass(frozen=True, slots=True)
class Matcher:
    """One thing that is expected. `text` names it for the reader as the vector does.

    `near` says of a record that nearly matches what is wrong with it, and is empty for any other.
    """

    text: str
    matches: Callable[[Record], bool]
    near: Callable[[Record], str] = lambda _: ""


Stimulus = Callable[[Argument], None]
Expectation = Callable[[Argument], Sequence[Matcher]]
Query = Callable[[Argument], None]
"""Asks the system for its state; raises SpecBrokenError if it is not as the argument says."""


class World(Protocol):
    """One run's surroundings."""

    history: list[Record]
    observed: list[Record]
    """What the system did since the last look, for the expectations to take."""
    step: int

    epoch: int
    """When the run started, in Unix ms: the zero of the records' `at`."""
    lives: int
    """How often the system was opened on its data folder."""

    @property
    def now(self) -> int:
        """The virtual time in Unix ms."""
        ...

    @property
    def stimuli(self) -> Mapping[str, Stimulus]: ...

    @property
    def expectations(self) -> Mapping[str, Expectation]: ...

    @property
    def queries(self) -> Mapping[str, Query]: ...

    @property
    def promises(self) -> Sequence[Promise]: ...

    @property
    def names(self) -> Mapping[str, str]:
        """The vector's label of each id that the system gave or was given, for the reader of a failure."""
        ...

    def set_up(self) -> None:
        """Start the system as the vector's `setup` says."""
        ...

    def settle(self) -> int | None:
        """Let the system come to rest. Returns its next timer in Unix ms."""
        ...

    def move_clock(self, now: int) -> None:
        """Set the clock to `now` and let the system come to rest."""
        ...

    @property
    def patience(self) -> float:
        """How many seconds what is expected may still take once the system is quiet: 0 where its clock is the kit's."""
        ...

    def await_more(self, seconds: float) -> bool:
        """Take the next thing that the system does. False if nothing comes within that time."""
        ...

    def is_closed(self, record: Record) -> bool:
        """Whether this must be expected, even where the vector does not name it."""
        ...

    def died(self) -> None:
        """The system ended by itself. Raises DriverDiedError unless a crash point was armed."""
        ...

    def recover(self) -> None:
        """After a kill by the sweep: start the system again, and let everything under way come to its end."""
        ...

    def finish(self) -> None:
        """The steps are over: check what can only be said at the end."""
        ...


class KilledHereError(Exception):
    """The crash sweep kills the system here (CRS-006)."""


@dataclass(frozen=True, slots=True)
class KillPoint:
    """Where a crash sweep kills the system: at an observation, or at a durable write of one of its lives.

    All are counted from 1, and 0 means nowhere. `life` is which opening of the system's data folder it is, `write`
    which durable write within it, `when` whether the system dies `before` or `after` that write.
    """

    observation: int = 0
    life: int = 0
    write: int = 0
    when: str = ""

    def __bool__(self) -> bool:
        return bool(self.observation or self.write)

    def __str__(self) -> str:
        if self.write:
            return f"{self.when} durable write {self.write} of its life {self.life}"
        return f"at observation {self.observation}" if self.observation else ""


NOWHERE = KillPoint()


@dataclass(frozen=True, slots=True)
class Role:
    """A role that a system can be judged in.

    `needs` are the capabilities without which no vector of the role can run. `make_world` gets the case, the system,
    its data folder and where the system is to be killed; `NOWHERE` for a run as the vector says.
    """

    name: str
    spec: str
    schemas: tuple[str, ...]
    make_world: Callable[[Case, System, str, KillPoint], World]
    swept: bool
    needs: tuple[str, ...] = ()
