"""Wrong relays behind real sockets: each is failed by the clause that it breaks, and each socket vector fails one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from adapters.mutants.registry import MUTANTS, PROGRAM_MUTANTS
from adapters.program_deviation import ProgramMutant, ProgramVariant
from adapters.variants.relay_program import VARIANTS
from conformance.adapter import Adapter, read
from conformance.catalogue import catalogue
from conformance.engine.run import Finding, Runner
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.run_plan import load_cases, make_system
from conformance.system import Timeouts
from conformance.vector import Case
from reference_impl.relay.program import RelayProgram

ROOT = Path(__file__).parents[2]
PATIENCE = Timeouts(reply=3, start=12, case=120)
REFERENCE = "reference_impl.relay"
NAMED = {
    "relay-sends-all-again": "RLY-004",
    "relay-anybody-may-ack": "RLY-007",
    "relay-program-acks-before-storing": "RLY-001",
    "relay-program-unknown-in-silence": "RLY-018",
    "relay-no-ceiling": "RLY-015",
}
"""The relays that a kit for relays must find out, whatever else it does."""


@cache
def over_sockets() -> Sequence[Case]:
    """Every case of a relay that can be run over sockets."""
    beyond = {"clock", "store_fault", "crash_at_write"}
    return [case for case in load_cases("", Path()) if case.role == "relay" and not beyond & set(case.requires)]


@cache
def socket_vectors() -> tuple[str, ...]:
    return tuple(dict.fromkeys(case.vector for case in over_sockets() if "tcp" in case.requires))


def adapter(name: str) -> Adapter:
    """The reference relay by its command, with that mutant in its place."""
    reference = read(ROOT / "adapters" / "reference-tcp.yaml")
    assert reference.relay is not None
    command: list[str] = []
    for word in reference.relay.command:
        command += ["adapters.relay_program", name] if word == REFERENCE else [word]
    manifest = dataclasses.replace(reference.relay, command=tuple(command))
    return dataclasses.replace(reference, name=name.replace("/", "."), relay=manifest, timeouts=PATIENCE)


def first_failure(name: str, cases: Sequence[Case]) -> tuple[Case, Finding] | None:
    """The first case that the mutant fails."""
    role = ROLES["relay"]
    runner = Runner(role, make_system(adapter(name), role), catalogue("delivery"))
    try:
        for case in cases:
            finding = runner.run(case)
            if finding.outcome in (Outcome.FAIL, Outcome.WARN):
                return case, finding
    finally:
        runner.stop()
    return None


def about(clause: str) -> list[Case]:
    """The cases that name the clause, those first that only sockets show."""
    return sorted(
        (case for case in over_sockets() if clause in case.clauses), key=lambda case: "tcp" not in case.requires
    )


@pytest.mark.parametrize("mutant", PROGRAM_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_program_is_failed_by_a_vector_about_the_clause_it_breaks(mutant: ProgramMutant[RelayProgram]) -> None:
    cases = about(mutant.breaks)
    assert cases, f"no vector is about {mutant.breaks}"
    failed = first_failure(f"mutants/{mutant.name}", cases)
    assert failed is not None, f"{mutant.name} ({mutant.does}) survives {[case.id for case in cases]}"


@pytest.mark.parametrize(("name", "clause"), NAMED.items())
def test_the_best_known_faults_fail_on_the_clause_that_says_so(name: str, clause: str) -> None:
    failed = first_failure(f"mutants/{name}", about(clause))
    assert failed is not None
    case, finding = failed
    assert (finding.clause or case.clauses[0]) == clause


@pytest.mark.parametrize("vector", socket_vectors())
def test_a_socket_vector_fails_a_wrong_program(vector: str) -> None:
    cases = [case for case in over_sockets() if case.vector == vector]
    clauses = cases[0].clauses
    likely = sorted(PROGRAM_MUTANTS, key=lambda mutant: mutant.breaks not in clauses)
    cores = [mutant for mutant in MUTANTS if mutant.breaks in clauses and mutant.name.startswith("relay-")]
    names = [each.name for each in likely if each.breaks in clauses] + [each.name for each in cores]
    assert any(first_failure(f"mutants/{name}", cases) for name in names), (
        f"no mutant fails {vector}: it proves nothing"
    )


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_right_program_passes_what_only_sockets_show(variant: ProgramVariant) -> None:
    cases = [case for case in over_sockets() if "tcp" in case.requires]
    assert first_failure(f"variants/{variant.name}", cases) is None
