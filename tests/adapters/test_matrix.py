"""Mutants against vectors: what keeps the kit from passing wrong implementations and from failing right ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import pytest

from adapters.deviation import Mutant, Variant, role_of
from adapters.mutants.registry import MUTANTS
from adapters.variants.registry import VARIANTS
from conformance.catalogue import catalogue
from conformance.coverage import lacks, mutants_by_clause, vectors_by_clause
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.vector import ANY_ROLE, Case
from tests.kit import cases_of, run

LEAST_MUTANTS = 60
LEAST_VARIANTS = 15
EVERY_ROLE = (*ROLES, ANY_ROLE)


@cache
def by_vector(role: str) -> Mapping[str, list[Case]]:
    """The cases of each vector of that role, without the crash sweeps."""
    found: dict[str, list[Case]] = {}
    for case in cases_of(role):
        if not case.swept:
            found.setdefault(case.vector, []).append(case)
    return found


def vectors() -> list[str]:
    return [vector for role in EVERY_ROLE for vector in by_vector(role)]


def about(mutant: Mutant) -> list[Case]:
    """The cases that name the clause which the mutant breaks; crash sweeps only for their own clause."""
    cases = cases_of(role_of(mutant))
    return [case for case in cases if mutant.breaks in (case.clauses[:1] if case.swept else case.clauses)]


def fails(mutant: Mutant, cases: Iterable[Case]) -> bool:
    return any(
        finding.outcome in (Outcome.FAIL, Outcome.WARN) for case in cases for finding in run(mutant, [case]).values()
    )


def test_there_are_enough_of_both() -> None:
    assert len(MUTANTS) >= LEAST_MUTANTS
    assert len(VARIANTS) >= LEAST_VARIANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed_by_a_vector_about_the_clause_it_breaks(mutant: Mutant) -> None:
    cases = about(mutant)
    assert cases, f"no vector is about {mutant.breaks}"
    assert fails(mutant, cases), f"{mutant.name} ({mutant.does}) survives {[case.id for case in cases]}"


@pytest.mark.parametrize("vector", vectors())
def test_a_vector_kills_a_mutant(vector: str) -> None:
    role = next(role for role in EVERY_ROLE if vector in by_vector(role))
    cases = by_vector(role)[vector]
    clauses = cases[0].clauses
    mine = [mutant for mutant in MUTANTS if role_of(mutant) == role]
    likely_first = sorted(mine, key=lambda mutant: mutant.breaks not in clauses)
    assert any(fails(mutant, cases) for mutant in likely_first), f"no mutant fails {vector}: it proves nothing"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_legal_variant_passes_everything(variant: Variant) -> None:
    findings = run(variant, cases_of(role_of(variant)))
    wrong = {
        case: f"{finding.outcome}: {finding.reason}"
        for case, finding in findings.items()
        if finding.outcome not in (Outcome.PASS, Outcome.WARN)
    }
    assert wrong == {}


@pytest.mark.parametrize("spec", sorted({role.spec for role in ROLES.values()}))
def test_every_must_clause_that_can_be_shown_has_a_vector_and_a_mutant(spec: str) -> None:
    assert lacks(catalogue(spec), vectors_by_clause(), mutants_by_clause()) == []
