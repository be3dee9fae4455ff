"""The words of a report: what is printable, the explanation of a failure, the table, and waivers."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path

import pytest

from conformance import waivers
from conformance.catalogue import catalogue
from conformance.explanation import explain, rerun_command
from conformance.printable import LONGEST, flow, printable
from conformance.strict_yaml import YamlError
from conformance.summary import table
from reference_impl.wire.json_types import Json, JsonObject

TODAY = datetime.date(2030, 1, 31)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ümläut, 語, ✓", "plain, ümläut, 語, ✓"),
        ("two\nlines", "two\nlines"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\tb\r\n", "a\\tb\\r\n"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("\u202egnp.exe\u2066\u200b", r"\u202egnp.exe\u2066\u200b"),
        ("\u2028\u2029\xad", r"\u2028\u2029\xad"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("x" * LONGEST, "x" * LONGEST),
        ("x" * (LONGEST + 1), "x" * LONGEST + f" … ({LONGEST + 1} characters)"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def result(**changes: str | int) -> JsonObject:
    failure: JsonObject = {
        "clause": "RCV-004",
        "clause_text": "One handler at a time.",
        "step": 3,
        "step_text": "expect: nothing",
        "line": 12,
        "expected": "nothing",
        "observed": "handler called",
        "note": "One reading of an open point.",
        "kill_point": "",
        "exchange": [
            {"at": "0s", "step": 2, "from": "relay", "to": "alice", "text": "Deliver A"},
            {"at": "10s", "step": 3, "from": "alice", "to": "alice", "text": "wakes"},
        ],
        "stderr": "",
    }
    top: JsonObject = {
        "id": "OWN-1",
        "title": "A title",
        "file": "own.yaml",
        "outcome": "fail",
        "reason": "not expected: handler called",
        "clauses": ["RCV-004"],
    }
    inner = {name: value for name, value in changes.items() if name in failure}
    outer = {name: value for name, value in changes.items() if name not in failure}
    return {**top, **outer, "failure": {**failure, **inner}}


def test_an_explanation_is_whole() -> None:
    assert explain(result(), "pytest again").splitlines() == [
        "OWN-1: A title",
        "",
        "Broken    not expected: handler called",
        "Clause    RCV-004: One handler at a time.",
        "Where     own.yaml:12, step 3: expect: nothing",
        "Expected  nothing",
        "Observed  handler called",
        "Note      One reading of an open point.",
        "",
        "The exchange (time since the start, step, who to whom):",
        "   0s    2  relay → alice     Deliver A",
        "> 10s    3  alice             wakes",
        "",
        "Again     pytest again",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"outcome": "error"}, "Error     not expected: handler called"),
        ({"outcome": "warn"}, "Advice    not expected: handler called"),
        ({"step": 0}, "Where     own.yaml:12, in the setup"),
        ({"kill_point": "at observation 2"}, "Where     own.yaml:12, step 3: expect: nothing, killed at observation 2"),
        ({"stderr": "one\ntwo"}, "  two"),
    ],
)
def test_an_explanation_says_more_where_there_is_more(changes: dict[str, str | int], line: str) -> None:
    assert line in explain(result(**changes), "").splitlines()


def test_a_driver_s_fault_blames_no_clause() -> None:
    assert "RCV-004" not in explain(result(outcome="error"), "")


def test_a_result_without_a_failure_is_its_reason() -> None:
    assert explain({"reason": "not run: lacks kill", "failure": None}, "") == "not run: lacks kill"


def test_the_command_survives_a_shell() -> None:
    command = rerun_command('cmd:node "my driver.mjs"', "OWN-1[60d and 1ms]", "my vectors", by_name=True)
    assert shlex.split(command) == [
        "pytest",
        "--pyargs",
        "conformance",
        '--adapter=cmd:node "my driver.mjs"',
        "--vectors=my vectors",
        "--vector=OWN-1[60d and 1ms]",
    ]
    assert rerun_command("", "A-1") == "pytest conformance --vector=A-1"


def test_the_table_counts_a_case_in_the_area_of_its_first_clause() -> None:
    results: list[JsonObject] = [
        {"clauses": ["RCV-004", "SND-001"], "outcome": "pass"},
        {"clauses": ["RCV-001"], "outcome": "fail"},
        {"clauses": ["SND-001"], "outcome": "not_run"},
        {"clauses": ["SND-001"], "outcome": "not_applicable"},
    ]
    lines = [line.split() for line in table(results, [catalogue("delivery")])]
    assert lines == [
        ["pass", "fail", "not", "run"],
        ["Sending", "-", "-", "1"],
        ["Receiving", "1", "1", "-"],
        ["all", "1", "1", "1"],
    ]


# -- waivers ----------------------------------------------------------------------------------------------------------


def load(folder: Path, text: str) -> list[waivers.Waiver]:
    path = folder / "w.yaml"
    path.write_text(text, encoding="utf-8")
    return waivers.load(path, TODAY, ["OWN-1", "OWN-2"], ["RCV-001"])


def test_a_waiver_lasts_through_its_last_day(tmp_path: Path) -> None:
    (waiver,) = load(tmp_path, "- {vector: OWN-1, reason: known, expires: '2030-01-31'}\n")
    assert waiver.covers("OWN-1", "RCV-001")
    assert not waiver.covers("OWN-2", "RCV-001")


def test_a_waiver_of_a_clause_covers_what_is_blamed_on_it(tmp_path: Path) -> None:
    (waiver,) = load(tmp_path, "- {clause: RCV-001, reason: known, expires: '2030-02-01'}\n")
    assert waiver.covers("OWN-2", "RCV-001")
    assert not waiver.covers("OWN-2", "RCV-002")
    assert waivers.unused([waiver], ["RCV-001"]) == []
    assert waivers.unused([waiver], []) == [
        f"{waiver.where}: the waiver of RCV-001 was not needed in this run; remove it."
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "- {vector: OWN-1, reason: x, expires: '2030-01-30'}\n",
            "expired on 2030-01-30; mend the failure or renew it.",
        ),
        ("- {vector: OWN-3, reason: x, expires: '2031-01-01'}\n", "there is no vector OWN-3 (did you mean OWN-"),
        (
            "- {clause: RCV-01, reason: x, expires: '2031-01-01'}\n",
            "there is no clause RCV-01 (did you mean RCV-001?).",
        ),
        ("- {vector: OWN-1, clause: RCV-001, reason: x, expires: '2031-01-01'}\n", ":1: 0: "),
        ("- {vector: OWN-1, reason: '', expires: '2031-01-01'}\n", ":1: 0.reason: "),
        ("- {vector: OWN-1, reason: x, expires: soon}\n", ":1: 0.expires: "),
        ("- {vector: OWN-1, reason: x, expires: '2031-02-29'}\n", "expires: 2031-02-29 is no day of the calendar."),
        ("vector: OWN-1\n", ":1: "),
    ],
)
def test_waivers_are_read_strictly(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(YamlError) as caught:
        load(tmp_path, text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"state": "connected", "min": None}, "{state: connected, min: null}"),
        (["bob", "carol"], "[bob, carol]"),
        ([], "[]"),
        (True, "true"),
        (1, "1"),
        ("text", "text"),
    ],
)
def test_a_value_is_shown_as_vectors_write_it(value: Json, text: str) -> None:
    assert flow(value) == text
