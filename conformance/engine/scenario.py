"""Runs one vector: stimulus, quiet, expectations, closed world, and at the end the promises."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from conformance.durations import parse_duration
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.engine.world import Matcher, World
from conformance.outcome import DriverDiedError, SpecBrokenError, VectorError
from conformance.vector import Case, Step
from reference_impl.wire.json_types import Json

OPTIONS = frozenset(("times", "within", "not_before"))
MAX_TIMERS = 100_000
"""So many timers may fire within one step; a system whose timer never gets later is found out long before."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One expectation: what matches, and how often."""

    matcher: Matcher
    least: int
    most: int
    not_before: int


Alternative = Sequence[Wanted]


class Scenario:
    """Drives a world through the steps of a case."""

    def __init__(self, case: Case, world: World) -> None:
        self._case = case
        self._world = world
        self._stimulus_at = 0
        self._allowed: Sequence[Matcher] = ()

    def run(self) -> None:
        """Raises SpecBrokenError for the first thing that is wrong, and what a driver or vector error raises."""
        world = self._world
        world.set_up()
        self._rest()
        for stimulus, expectations in _groups(self._case.steps):
            if stimulus is not None:
                self._act(stimulus)
            self._expect(expectations, stimulus)
        world.finish()

    # -- stimuli

    def _act(self, step: Step) -> None:
        world = self._world
        world.step = step.number
        self._stimulus_at = world.now
        if step.verb == "advance":
            self._advance(Argument(step.argument).duration("of"))
            return
        act = world.stimuli.get(step.verb)
        if act is None:
            raise VectorError(f"a {self._case.role} vector has no verb {step.verb}")
        try:
            act(Argument(step.argument))
        except DriverDiedError:
            world.died()
        self._rest()

    def _rest(self) -> int | None:
        """Let the system come to rest. A timer that is due and did not fire breaks the protocol's promise of time."""
        timer = self._world.settle()
        if timer is not None and timer <= self._world.now:
            raise SpecBrokenError(
                "a timer is due that never fires: the system reports a next timer that is not later than now",
                expected="next_timer after now, or null",
                observed=f"next_timer {timer - self._world.now} ms from now",
            )
        return timer

    def _advance(self, duration: int) -> None:
        target = self._world.now + duration
        for _ in range(MAX_TIMERS):
            if not self._to_next_timer(target):
                return
        raise SpecBrokenError(f"more than {MAX_TIMERS} timers fire within one step")

    def _to_next_timer(self, limit: int) -> bool:
        """Move the clock to the next timer, or to `limit` if that is earlier. False once the limit is reached."""
        world = self._world
        if world.now >= limit:
            return False
        timer = self._rest()
        world.move_clock(limit if timer is None else min(timer, limit))
        return True

    # -- expectations

    def _expect(self, steps: Sequence[Step], stimulus: Step | None) -> None:
        world = self._world
        if steps:
            world.step = steps[0].number
        self._allowed = self._read_allowed()
        queries = [step for step in steps if self._is_query(step)]
        alternatives = self._alternatives([step for step in steps if step not in queries])
        deadline = world.now + max((_within(step) for step in steps), default=0)
        verdict = self._best(alternatives)
        while verdict.missing and self._to_next_timer(deadline):
            verdict = self._best(alternatives)
        if verdict.missing:
            verdict = self._await(alternatives, verdict, bounded=any(_within(step) for step in steps))
        self._judge(verdict, stimulus)
        for step in queries:
            world.step = step.number
            self._ask(step)
        world.observed.clear()

    def _await(self, alternatives: Sequence[Alternative], verdict: _Verdict, *, bounded: bool) -> _Verdict:
        """Quiet or not, a system in real time may be slow: wait for what is missing as long as for any answer.

        `bounded`: the vector says how long it may take, and so long was waited already.
        """
        world = self._world
        came = 0
        deadline = time.monotonic() + (0 if bounded else world.patience)
        while verdict.missing and world.await_more(deadline - time.monotonic()):
            came += 1
            verdict = self._best(alternatives)
        if not came:
            return verdict
        self._rest()
        return self._best(alternatives)

    def _is_query(self, step: Step) -> bool:
        return isinstance(step.argument, Mapping) and not self._world.queries.keys().isdisjoint(step.argument)

    def _ask(self, step: Step) -> None:
        if isinstance(step.argument, Mapping):
            for kind, value in step.argument.items():
                self._world.queries[kind](Argument(value))

    def _alternatives(self, steps: Sequence[Step]) -> list[Alternative]:
        """Every way in which these expectations can be met: one for each choice among the `any_of`."""
        choices: list[list[Alternative]] = []
        for step in steps:
            if step.argument == "nothing":
                continue
            if not isinstance(step.argument, Mapping):
                raise VectorError("expect needs a kind and its argument")
            options = step.argument.get("any_of")
            if isinstance(options, list):
                choices.append([self._read_list(each) for each in options])
            else:
                choices.append([self._read(step.argument)])
        return [[wanted for part in combination for wanted in part] for combination in product(*choices)]

    def _read_list(self, values: Json) -> list[Wanted]:
        if not isinstance(values, list):
            raise VectorError("any_of holds lists of expectations")
        return [wanted for value in values if isinstance(value, Mapping) for wanted in self._read(value)]

    def _read(self, fields: Mapping[str, Json]) -> list[Wanted]:
        argument = Argument(fields)
        least, most = _times(argument)
        not_before = argument.duration("not_before")
        kinds = [name for name in fields if name not in OPTIONS]
        return [
            Wanted(matcher, least, most, not_before) for kind in kinds for matcher in self._matchers(kind, fields[kind])
        ]

    def _matchers(self, kind: str, value: Json) -> Sequence[Matcher]:
        expectation = self._world.expectations.get(kind)
        if expectation is None:
            raise VectorError(f"a {self._case.role} vector has no expectation {kind}")
        return expectation(Argument(value))

    def _read_allowed(self) -> list[Matcher]:
        found: list[Matcher] = []
        for each in self._case.allow:
            if isinstance(each, Mapping):
                for kind, value in each.items():
                    with suppress(VectorError):  # a label that a later step gives; lint finds one that none gives
                        found += self._matchers(kind, value)
            else:
                found += self._matchers(str(each), None)
        return found

    # -- judging

    def _best(self, alternatives: Sequence[Alternative]) -> _Verdict:
        verdicts = [self._match(each) for each in alternatives]
        return min(verdicts, key=lambda verdict: (len(verdict.missing), len(verdict.surplus)))

    def _match(self, wanted: Alternative) -> _Verdict:
        """Give the observations to the expectations so that as many as possible are met, whatever their order."""
        observed = list(self._world.observed)
        placement = _Placement(observed, wanted)
        surplus = [record for index, record in enumerate(observed) if index not in placement.placed]
        early = [
            observed[index]
            for each, indexes in zip(wanted, placement.given, strict=True)
            for index in indexes
            if observed[index].at - self._started_at() < each.not_before
        ]
        counted = zip(wanted, placement.given, strict=True)
        missing = [each for each, indexes in counted if len(indexes) < each.least]
        unexpected = [record for record in surplus if self._world.is_closed(record) and not self._is_allowed(record)]
        return _Verdict(wanted, missing, unexpected, early, surplus)

    def _started_at(self) -> int:
        """When the stimulus acted, on the clock of the records."""
        return self._stimulus_at - self._world.epoch

    def _is_allowed(self, record: Record) -> bool:
        return any(matcher.matches(record) for matcher in self._allowed)

    def _judge(self, verdict: _Verdict, stimulus: Step | None) -> None:
        after = f" after {stimulus.text}" if stimulus is not None else ""
        observed = _together(record.describe() for record in self._world.observed)
        expected = _together(_wanted_words(each) for each in verdict.wanted)
        if verdict.missing:
            what = _together(_wanted_words(each) for each in verdict.missing)
            raise SpecBrokenError(
                f"{what} did not come{after}{_near_misses(verdict)}", expected=expected, observed=observed
            )
        if verdict.surplus:
            what = verdict.surplus[0].describe()
            raise SpecBrokenError(f"not expected{after}: {what}", expected=expected, observed=observed)
        if verdict.early:
            what = verdict.early[0].describe()
            raise SpecBrokenError(f"came too early{after}: {what}", expected=expected, observed=observed)


class _Placement:
    """Which observation goes to which expectation: first what each needs at least, then what it may take besides.

    One that was placed moves on where that makes room, so that a broad expectation never takes what only a narrow one
    could have had (augmenting paths).
    """

    def __init__(self, observed: Sequence[Record], wanted: Alternative) -> None:
        self.given: list[list[int]] = [[] for _ in wanted]
        self.placed: set[int] = set()
        self._observed = observed
        self._wanted = wanted
        for room in ([each.least for each in wanted], [each.most for each in wanted]):
            self._fill(room)

    def _fill(self, room: Sequence[int]) -> None:
        free = [number for number, given in enumerate(self.given) if len(given) < room[number]]
        for index in range(len(self._observed)):
            if index in self.placed:
                continue
            number = self._first_free(index, free)
            if number is not None:
                self.given[number].append(index)
            elif not self._place(index, room, set()):
                continue
            self.placed.add(index)
            free = [each for each in free if len(self.given[each]) < room[each]] if number is None else free
            if number is not None and len(self.given[number]) >= room[number]:
                free.remove(number)

    def _first_free(self, index: int, free: Sequence[int]) -> int | None:
        """Without moving anything: thousands of observations in the order of their expectations take one look each."""
        record = self._observed[index]
        return next((number for number in free if self._wanted[number].matcher.matches(record)), None)

    def _place(self, index: int, room: Sequence[int], tried: set[int]) -> bool:
        for number, each in enumerate(self._wanted):
            if number in tried or not each.matcher.matches(self._observed[index]):
                continue
            tried.add(number)
            given = self.given[number]
            if len(given) < room[number]:
                given.append(index)
                return True
            for place, other in enumerate(given):
                if self._place(other, room, tried):
                    given[place] = index
                    return True
        return False


@dataclass(frozen=True, slots=True)
class _Verdict:
    wanted: Alternative
    missing: Sequence[Wanted]
    surplus: Sequence[Record]
    early: Sequence[Record]
    left: Sequence[Record]


def _near_misses(verdict: _Verdict) -> str:
    """What is wrong with what nearly is one of the missing: the first for each, as the end of a sentence."""
    found = (next(filter(None, map(each.matcher.near, verdict.left)), "") for each in verdict.missing)
    return "".join(f"; {why}" for why in dict.fromkeys(found) if why)


def _groups(steps: Sequence[Step]) -> Iterator[tuple[Step | None, list[Step]]]:
    """Each stimulus with the expectations behind it; None stands for the setup."""
    stimulus: Step | None = None
    expectations: list[Step] = []
    for step in steps:
        if step.verb == "expect":
            expectations.append(step)
            continue
        yield stimulus, expectations
        stimulus, expectations = step, []
    yield stimulus, expectations


def _within(step: Step) -> int:
    if isinstance(step.argument, Mapping) and "within" in step.argument:
        return parse_duration(str(step.argument["within"]))
    return 0


def _times(argument: Argument) -> tuple[int, int]:
    if "times" not in argument:
        return 1, 1
    times = argument.inner("times", "min")
    if isinstance(argument.get("times"), int):
        return times.number("min"), times.number("min")
    return times.number("min", 0), times.number("max", MAX_TIMERS)


def _together(texts: Iterable[str]) -> str:
    """The texts as one, in the order of their first appearance; equal ones are counted."""
    counted = Counter(texts)
    return "; ".join(text if count == 1 else f"{count} times {text}" for text, count in counted.items()) or "nothing"


def _wanted_words(wanted: Wanted) -> str:
    if (wanted.least, wanted.most) == (1, 1):
        return wanted.matcher.text
    most = "any number of" if wanted.most == MAX_TIMERS else str(wanted.most)
    count = most if wanted.least == wanted.most else f"{wanted.least} to {most}"
    return f"{count} times {wanted.matcher.text}"
