"""RPW-006 over schedules that nobody thought of: replays, fresh seals, restarts, crashes and days, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from adapters.deviation import Mutant, Variant
from adapters.mutants import crash_points, dedup_retention, replay_window
from conformance.outcome import Outcome
from conformance.strict_yaml import Value
from conformance.vector import Case, Step, one_line
from reference_impl.device.device import Device
from tests.kit import run

STAMPS = ("-59d", "0s", "1d", "40d")
PAUSES = ("1ms", "1d", "29d", "31d", "60d")
REFERENCE = Variant("reference", "is the reference itself", Device)


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens. `which` picks among the blobs there are, `detail` is the verb's own choice."""

    verb: str
    which: int = 0
    detail: str = ""


def moves() -> st.SearchStrategy[Move]:
    which = st.integers(0, 5)
    return st.one_of(
        st.builds(Move, st.just("deliver"), which, st.sampled_from(STAMPS)),
        st.builds(Move, st.sampled_from(("copy", "same-bytes", "again")), which),
        st.builds(Move, st.sampled_from(("crash", "crash-twice", "restart", "reconnect"))),
        st.builds(Move, st.just("advance"), st.just(0), st.sampled_from(PAUSES)),
        st.builds(Move, st.just("handler"), st.just(0), st.sampled_from(("returns", "returns", "holds", "throws"))),
        st.builds(Move, st.just("acks"), st.just(0), st.sampled_from(("lost", "arrive"))),
    )


SCHEDULES = st.lists(moves(), min_size=4, max_size=14)
AGAIN: dict[str, tuple[Value, ...]] = {
    "crash": ("kill", "start", "register_handler"),
    "crash-twice": ("kill", "start", "kill", "start", "register_handler"),
    "restart": ("restart", "register_handler"),
    "reconnect": ("disconnect", "connect"),
}


def steps_of(schedule: Sequence[Move]) -> list[Value]:
    """The schedule as the steps of a vector; a move that has no blob yet to speak of delivers one."""
    steps: list[Value] = ["register_handler"]
    blobs: list[str] = []
    for move in schedule:
        if move.verb in AGAIN:
            steps += AGAIN[move.verb]
        elif move.verb in ("advance", "handler", "acks"):
            steps.append({move.verb: move.detail})
        elif move.verb == "again" and blobs:
            steps.append({"deliver_again": blobs[move.which % len(blobs)]})
        else:
            label = f"b{len(blobs)}"
            steps.append(arrival(move, label, blobs))
            blobs.append(label)
    return steps


def arrival(move: Move, label: str, blobs: Sequence[str]) -> Value:
    if move.verb == "deliver" or not blobs:
        sender = "bob" if move.which % 2 else "carol"
        return {"deliver": {"as": label, "from": sender, "sent": move.detail or "0s"}}
    original = blobs[move.which % len(blobs)]
    return {"deliver_copy": {"of": original, "as": label, "resealed": move.verb == "copy"}}


def case_of(schedule: Sequence[Move]) -> Case:
    """A vector that expects nothing in particular: the promises alone judge it."""
    steps = [
        Step(number, verb, argument, 1, one_line(step))
        for number, step in enumerate(steps_of(schedule), 1)
        for verb, argument in [next(iter(step.items())) if isinstance(step, dict) else (str(step), None)]
    ]
    return Case(
        id="SCHEDULE",
        vector="SCHEDULE",
        title="A random schedule",
        spec="delivery",
        role="device",
        clauses=("RPW-006",),
        requires=("kill", "restart", "clock"),
        setup={"handler": "returns"},
        allow=("handler_called", "deliver_ack", "issue"),
        hostile=True,
        steps=tuple(steps),
        location="schedule",
        line=1,
    )


def breaks(deviation: Mutant | Variant, schedule: Sequence[Move]) -> bool:
    return run(deviation, [case_of(schedule)])["SCHEDULE"].outcome is Outcome.FAIL


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(SCHEDULES)
def test_the_reference_keeps_every_promise(schedule: list[Move]) -> None:
    finding = run(REFERENCE, [case_of(schedule)])["SCHEDULE"]
    assert finding.outcome is Outcome.PASS, f"{finding.clause}: {finding.reason}"


@pytest.mark.parametrize(
    "name",
    ["dedup-since-start", "dedup-30-days", "dedup-at-close", "dedup-by-blob", "dedup-of-session", "no-window"],
)
def test_a_device_that_forgets_is_found_out(name: str) -> None:
    """`find` raises where no schedule within the budget shows it."""
    mutant = next(
        each for each in (*crash_points.MUTANTS, *dedup_retention.MUTANTS, *replay_window.MUTANTS) if each.name == name
    )
    budget = settings(
        max_examples=400,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    found = find(SCHEDULES, lambda schedule: breaks(mutant, schedule), settings=budget)
    assert not breaks(REFERENCE, found)
