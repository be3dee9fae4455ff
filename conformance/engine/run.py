"""Runs one case against one system and turns whatever happens into a result: never an exception, never a hang."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from conformance.catalogue import Catalogue, Level
from conformance.engine.record import Breach, Record
from conformance.engine.scenario import Scenario
from conformance.engine.world import NOWHERE, KilledHereError, KillPoint, Role, World
from conformance.outcome import (
    ApiError,
    DriverDiedError,
    DriverError,
    NotRunError,
    Outcome,
    SpecBrokenError,
    VectorError,
)
from conformance.system import System
from conformance.vector import Case

MAX_KILL_POINTS = 400
HISTORY_SHOWN = 400
MAX_FAILED_STARTS = 3
"""A driver that did not start so often in a row is not tried again: each try may take the whole start timeout."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found in one run. `clause` is the sentence broken, if one is to blame.

    `names` are the vector's labels for ids that stand in the texts and in the history.
    """

    outcome: Outcome
    reason: str = ""
    expected: str = ""
    observed: str = ""
    clause: str = ""
    step: int = 0
    kill_point: str = ""
    history: tuple[Record, ...] = ()
    stderr: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


PASSED = Finding(Outcome.PASS)


class Runner:
    """Runs cases of one role, one after the other, and keeps the system between them while it behaves."""

    def __init__(self, role: Role, system: System, catalogue: Catalogue) -> None:
        self._role = role
        self._system = system
        self._catalogue = catalogue
        self._failed_starts = 0

    def run(self, case: Case) -> Finding:
        """Run a case. A fault of the driver is blamed on this case, and the next one gets a new driver."""
        try:
            finding = self._run(case)
        except Exception as error:  # noqa: BLE001 - the run goes on whatever the kit did not foresee
            finding = self._blame(Outcome.ERROR, _kit_failed(error))
        if finding.outcome is Outcome.FAIL and self._is_advice(finding.clause or case.clauses[0]):
            finding = replace(finding, outcome=Outcome.WARN)
        return finding

    def stop(self) -> None:
        self._system.stop()

    def _run(self, case: Case) -> Finding:
        if self._failed_starts >= MAX_FAILED_STARTS:
            return Finding(
                Outcome.ERROR,
                f"not tried: the driver could not be started {MAX_FAILED_STARTS} times in a row; see the cases before",
            )
        try:
            self._system.begin_case(case.id)
            self._ready()
            lacking = [name for name in (*self._role.needs, *case.requires) if name not in self._system.capabilities]
            if lacking:
                return Finding(Outcome.NOT_RUN, f"the driver does not offer {', '.join(lacking)}")
            if case.swept:
                return self._sweep(case)
            return self._once(case, NOWHERE)[0]
        except DriverError as error:
            return self._blame(Outcome.ERROR, str(error))

    def _sweep(self, case: Case) -> Finding:
        """Kill the system at each observation, and at each durable write where the driver can do that (CRS-006)."""
        finding, lives = self._series(case, lambda number: (KillPoint(observation=number),))
        life = 1
        while "crash_at_write" in self._system.capabilities and finding.outcome is Outcome.PASS and life <= lives:
            finding, lives = self._series(case, partial(_around_write, life))
            life += 1
        return finding

    def _series(self, case: Case, points_at: Callable[[int], Sequence[KillPoint]]) -> tuple[Finding, int]:
        """Kill at the first of a kind of points, at the second, and so on until the vector ends before that.

        Also returns how often the system was opened in the vector's whole length.
        """
        for number in range(1, MAX_KILL_POINTS + 1):
            for point in points_at(number):
                self._ready()
                finding, killed, lives = self._once(case, point)
                if finding.outcome is not Outcome.PASS:
                    return replace(finding, kill_point=str(point)), 0
                if not killed:
                    return PASSED, lives
        return Finding(Outcome.ERROR, f"the vector has more than {MAX_KILL_POINTS} points to be killed at"), 0

    def _once(self, case: Case, kill_point: KillPoint) -> tuple[Finding, bool, int]:
        """One run. Also returns whether the sweep killed the system on the way, and how often it was opened."""
        with self._data_folder() as folder:
            world = self._role.make_world(case, self._system, folder, kill_point)
            finding, killed = self._judge(case, world, kill_point)
            return self._leave(finding, world), killed, world.lives

    def _judge(self, case: Case, world: World, kill_point: KillPoint) -> tuple[Finding, bool]:
        killed = False
        try:
            try:
                Scenario(case, world).run()
            except KilledHereError:
                killed = True
                world.recover()
            if kill_point and not killed:
                return PASSED, False
            return self._promises(world), killed
        except SpecBrokenError as broken:
            return self._broken(broken, world, kill_point), killed
        except NotRunError as error:
            return Finding(Outcome.NOT_RUN, str(error)), killed
        except Exception as error:  # noqa: BLE001 - here with the history so far, which the outer net does not know
            return self._found(world, Outcome.ERROR, self._error_words(error)), killed

    def _error_words(self, error: Exception) -> str:
        if isinstance(error, DriverDiedError):
            return self._system.ending or str(error)
        if isinstance(error, DriverError):
            return str(error)
        if isinstance(error, VectorError):
            return f"the vector cannot be run: {error}"
        if isinstance(error, ApiError):
            return f"the driver answered with the API error {error} where the API has none"
        return _kit_failed(error)

    def _broken(self, broken: SpecBrokenError, world: World, kill_point: KillPoint) -> Finding:
        """The first thing that is wrong. A promise that does not hold says it better than a missing observation."""
        breach = next(iter(self._breaches(world)), None)
        clause = broken.clause or (breach.clause if breach else "")
        reason = broken.reason
        if breach is not None and not broken.clause:
            reason = f"{reason}; {breach.reason}"
        if kill_point and not clause:
            clause = "CRS-006"
        found = self._found(world, Outcome.FAIL, reason)
        return replace(found, expected=broken.expected, observed=broken.observed, clause=clause)

    def _promises(self, world: World) -> Finding:
        breach = next(iter(self._breaches(world)), None)
        if breach is None:
            return PASSED
        found = self._found(world, Outcome.FAIL, breach.reason)
        return replace(
            found,
            clause=breach.clause,
            step=breach.record.step,
            expected=self._text(breach.clause),
            observed=breach.record.describe(),
        )

    def _breaches(self, world: World) -> Iterator[Breach]:
        for promise in world.promises:
            yield from promise(world.history)

    def _found(self, world: World, outcome: Outcome, reason: str) -> Finding:
        return Finding(outcome, reason, step=world.step, history=_shown(world.history), names=dict(world.names))

    def _blame(self, outcome: Outcome, reason: str) -> Finding:
        self._drop()
        return Finding(outcome, reason, stderr=self._system.last_words())

    def _drop(self) -> None:
        """End the driver. One that lives in this process also loses its disk, as a program loses its data folder."""
        if self._system.serves_many_cases:
            self._system.kill()
        else:
            self._system.stop()

    def _is_advice(self, clause: str) -> bool:
        known = self._catalogue.clauses.get(clause)
        return known is not None and known.level is Level.SHOULD

    def _text(self, clause: str) -> str:
        known = self._catalogue.clauses.get(clause)
        return known.text if known is not None else ""

    def _ready(self) -> None:
        if self._system.running:
            return
        self._failed_starts += 1
        self._system.start()
        self._failed_starts = 0

    def _leave(self, finding: Finding, world: World) -> Finding:
        """Clear up behind a run. A driver that failed, or that cannot even reset, does not get the next case."""
        if not self._system.serves_many_cases:
            words = self._system.last_words() if finding.outcome is Outcome.ERROR else ""
            self._system.stop()
            return replace(finding, stderr=words) if words else finding
        if finding.outcome in (Outcome.PASS, Outcome.NOT_RUN) and self._system.running:
            try:
                self._system.reset()
            except DriverError as error:
                reason = self._system.ending or str(error)
                finding = self._found(world, Outcome.ERROR, f"after the vector: {reason}")
            else:
                return finding
        self._system.kill()
        if finding.outcome is Outcome.PASS:
            return finding
        return replace(finding, stderr=self._system.last_words())

    @contextlib.contextmanager
    def _data_folder(self) -> Iterator[str]:
        with self._system.data_folder() as folder:
            try:
                yield folder
            except BaseException:
                self._system.kill()  # before the folder goes, so that nothing is written into it again
                raise


def _around_write(life: int, write: int) -> tuple[KillPoint, KillPoint]:
    return KillPoint(life=life, write=write, when="before"), KillPoint(life=life, write=write, when="after")


def _shown(history: Sequence[Record]) -> tuple[Record, ...]:
    """The end of a long history: what broke is there."""
    return tuple(history[-HISTORY_SHOWN:])


def _kit_failed(error: Exception) -> str:
    """A fault of the kit itself, in one sentence that finds its place."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return (
        f"the kit itself failed here, which says nothing about the system: {type(error).__name__} at {where}: {error}; "
        "please report it, with the vector and the exchange"
    )
