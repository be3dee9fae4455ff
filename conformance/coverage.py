"""`python -m conformance coverage`: clause → vectors → mutants, and what is still open.

A MUST clause without a vector, or without a mutant that breaks it, is a promise that nobody checks.
"""

from __future__ import annotations

import argparse
import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from conformance.catalogue import Catalogue, Clause, Level, catalogue
from conformance.roles import ROLES
from conformance.run_plan import load_cases

MUTANTS = "adapters.mutants.registry"
"""Named and not imported: adapters stand above the engine."""
NAMES_SHOWN = 4


class Breaking(Protocol):
    """A mutant, as far as coverage goes: its name and the clause that it breaks."""

    name: str
    breaks: str


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("coverage", help="print clause → vectors → mutants", description=__doc__)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - every command gets its arguments
    """0 if every MUST clause that can be shown has both a vector and a mutant, 1 if not."""
    vectors, mutants = vectors_by_clause(), mutants_by_clause()
    lacking: list[str] = []
    for spec in dict.fromkeys(role.spec for role in ROLES.values()):
        known = catalogue(spec)
        for line in table(known, vectors, mutants):
            print(line)
        lacking += lacks(known, vectors, mutants)
    for line in lacking:
        print(line)
    counted = (
        f"{len(lacking)} clauses lack something." if lacking else "Every MUST clause that can be shown is covered."
    )
    print(f"\n{counted}")
    return 1 if lacking else 0


def vectors_by_clause() -> Mapping[str, Sequence[str]]:
    """The ids of the vectors that name each clause; a crash sweep counts for its own clause."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for case in load_cases("", Path()):
        for clause in case.clauses[:1] if case.swept else case.clauses:
            found[clause][case.vector] = None
    return {clause: list(ids) for clause, ids in found.items()}


def mutants_by_clause() -> Mapping[str, Sequence[str]]:
    """The names of the mutants that break each clause."""
    mutants: Iterable[Breaking] = importlib.import_module(MUTANTS).EVERY_MUTANT
    found: dict[str, list[str]] = defaultdict(list)
    for mutant in mutants:
        found[mutant.breaks].append(mutant.name)
    return found


def table(
    known: Catalogue, vectors: Mapping[str, Sequence[str]], mutants: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """One line a clause, under the name of its area."""
    area = ""
    for clause in known.clauses.values():
        if clause.area != area:
            area = clause.area
            yield f"\n{known.areas[area]}"
        yield f"  {clause.id}  {clause.level:<6}  {_cells(clause, vectors, mutants)}"
    open_ones = [f"{clause.id} ({clause.open.replace('_', ' ')})" for clause in known.clauses.values() if clause.open]
    yield f"\nOpen, because no driver protocol can show them: {', '.join(open_ones)}\n"


def lacks(known: Catalogue, vectors: Mapping[str, Sequence[str]], mutants: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence for each MUST clause that lacks a vector or a mutant, though it could have one."""
    found = []
    for clause in known.clauses.values():
        if clause.level is not Level.MUST or clause.open or clause.retired:
            continue
        missing = [kind for kind, has in (("vector", vectors), ("mutant", mutants)) if not has.get(clause.id)]
        if missing:
            found.append(f"{clause.id} has no {' and no '.join(missing)}: {clause.title}")
    return found


def _cells(clause: Clause, vectors: Mapping[str, Sequence[str]], mutants: Mapping[str, Sequence[str]]) -> str:
    if clause.open:
        return f"open: {clause.open.replace('_', ' ')}"
    return f"{_some(vectors.get(clause.id, []), 'vectors'):<52}  → {_some(mutants.get(clause.id, []), 'mutants')}"


def _some(names: Sequence[str], what: str) -> str:
    more = ", …" if len(names) > NAMES_SHOWN else ""
    return f"{len(names):>3} {what}: {', '.join(names[:NAMES_SHOWN])}{more}" if names else f"  0 {what}"
