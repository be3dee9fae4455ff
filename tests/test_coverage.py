"""The coverage command: clause → vectors → mutants, and what lacks either."""

from __future__ import annotations

import pytest

from conformance import coverage
from conformance.__main__ import main
from conformance.catalogue import Catalogue, Clause, Level


def clause(number: int, level: Level = Level.MUST, opened: str = "") -> Clause:
    return Clause(f"SND-00{number}", f"Title {number}", "Text.", level, "device", "somewhere", open=opened)


CLAUSES = [clause(1), clause(2), clause(3), clause(4, Level.SHOULD), clause(5, opened="sockets")]
KNOWN = Catalogue("delivery", {"SND": "Sending"}, {each.id: each for each in CLAUSES})
VECTORS = {"SND-001": ["A-1", "A-2", "A-3", "A-4", "A-5"], "SND-002": ["A-6"]}
MUTANTS = {"SND-001": ["m"], "SND-003": ["n"]}


def test_a_must_clause_without_either_is_named() -> None:
    assert coverage.lacks(KNOWN, VECTORS, MUTANTS) == [
        "SND-002 has no mutant: Title 2",
        "SND-003 has no vector: Title 3",
    ]


def test_the_table_names_vectors_mutants_and_what_is_open() -> None:
    lines = [line.rstrip() for line in coverage.table(KNOWN, VECTORS, MUTANTS)]
    assert lines[0] == "\nSending"
    assert lines[1].split() == [
        "SND-001",
        "MUST",
        "5",
        "vectors:",
        "A-1,",
        "A-2,",
        "A-3,",
        "A-4,",
        "…",
        "→",
        "1",
        "mutants:",
        "m",
    ]
    assert lines[5].split() == ["SND-005", "MUST", "open:", "sockets"]
    assert lines[6].strip() == "Open, because no driver protocol can show them: SND-005 (sockets)"


def test_the_command_fails_on_a_lack(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage"]) == 0
    assert "Every MUST clause that can be shown is covered." in capsys.readouterr().out
    monkeypatch.setattr(coverage, "mutants_by_clause", dict)
    assert main(["coverage"]) == 1
    assert "SND-001 has no mutant" in capsys.readouterr().out
