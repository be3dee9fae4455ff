"""The two designs that the protocol gave up must fail today: by the clauses they were given up for, and by no other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from adapters.deviation import Historical
from adapters.historical.registry import ACK_ON_RECEIPT, APP_DEDUP, HISTORICAL
from conformance.adapter import names
from conformance.engine.run import Finding
from conformance.outcome import Outcome
from tests.kit import cases_of, run


@cache
def findings_of(name: str) -> Mapping[str, Finding]:
    design = next(each for each in HISTORICAL if each.name == name)
    return run(design, cases_of("device"))


def blamed(design: Historical) -> set[str]:
    first = {case.id: case.clauses[0] for case in cases_of("device")}
    return {
        finding.clause or first[case]
        for case, finding in findings_of(design.name).items()
        if finding.outcome is Outcome.FAIL
    }


@pytest.mark.parametrize("design", HISTORICAL, ids=lambda design: design.name)
def test_a_historical_design_fails_exactly_the_clauses_it_was_given_up_for(design: Historical) -> None:
    assert blamed(design) == set(design.breaks)


@pytest.mark.parametrize("design", HISTORICAL, ids=lambda design: design.name)
def test_it_fails_and_does_nothing_worse(design: Historical) -> None:
    outcomes = {finding.outcome for finding in findings_of(design.name).values()}
    assert outcomes <= {Outcome.PASS, Outcome.FAIL, Outcome.WARN}
    assert Outcome.PASS in outcomes


def test_an_ack_on_receipt_loses_what_the_handler_had_when_the_process_died() -> None:
    lost = [
        case
        for case, finding in findings_of(ACK_ON_RECEIPT.name).items()
        if finding.clause == "CRS-004" and "is lost" in finding.reason
    ]
    assert "DEDUP-001+killed" in lost


def test_without_a_table_of_its_own_the_library_hands_a_lost_ack_to_the_app_as_a_second_message() -> None:
    finding = findings_of(APP_DEDUP.name)["CRASH-022"]
    assert finding.outcome is Outcome.FAIL
    assert finding.clause == "CRS-005"


@pytest.mark.parametrize(
    "vector", ["CRASH-004", "DEDUP-020[from-one-sender]", "DEDUP-021", "CRASH-003", "REPLAY-002[a-year]"]
)
def test_what_apps_were_told_to_do_themselves_does_not_touch_the_rest(vector: str) -> None:
    assert findings_of(APP_DEDUP.name)[vector].outcome is Outcome.PASS


def test_both_can_be_named_on_the_command_line(tmp_path: Path) -> None:
    assert {f"historical/{design.name}" for design in HISTORICAL} <= set(names(tmp_path))
