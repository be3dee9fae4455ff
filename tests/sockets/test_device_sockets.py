"""Wrong devices behind `link: tcp`: each is failed by a vector of the clause that it breaks, each vector fails one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from adapters.mutants import device_sockets
from adapters.program_deviation import ProgramMutant
from adapters.reference.device_over_tcp import DeviceOverTcp
from conformance.adapter import find
from conformance.catalogue import catalogue
from conformance.engine.run import Runner
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.run_plan import load_cases, make_system
from conformance.system import Timeouts
from conformance.vector import Case

ROOT = Path(__file__).parents[2]
MUTANTS = device_sockets.MUTANTS


@cache
def cases() -> Sequence[Case]:
    """Those of a device that only sockets show."""
    return [case for case in load_cases("", Path()) if case.role == "device" and "tcp" in case.requires]


def outcomes(name: str, chosen: Sequence[Case]) -> list[Outcome]:
    """Of these cases against a mutant, or against the reference for no name."""
    judged = dataclasses.replace(find("reference-device-tcp", ROOT), timeouts=Timeouts(reply=20, start=40, case=120))
    if name:
        command = ("{python}", "-m", "tests.sockets.device_program", name)
        judged = dataclasses.replace(judged, command=command, folder=ROOT)
    role = ROLES["device"]
    runner = Runner(role, make_system(judged, role), catalogue("delivery"))
    try:
        return [runner.run(case).outcome for case in chosen]
    finally:
        runner.stop()


def test_the_reference_passes_them_all() -> None:
    assert set(outcomes("", cases())) == {Outcome.PASS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_device_is_failed_by_a_vector_about_its_clause(mutant: ProgramMutant[DeviceOverTcp]) -> None:
    about = [case for case in cases() if mutant.breaks in case.clauses]
    assert Outcome.FAIL in outcomes(mutant.name, about)


@pytest.mark.parametrize("vector", sorted({case.vector for case in cases()}))
def test_a_vector_fails_a_wrong_device(vector: str) -> None:
    chosen = [case for case in cases() if case.vector == vector]
    assert any(Outcome.FAIL in outcomes(mutant.name, chosen) for mutant in MUTANTS)
