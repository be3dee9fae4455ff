"""Which cases a set of vectors comes to: rows, and the crash sweeps behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.run_plan import PlanError, load_cases

HEAD = """\
id: ROWS-001
title: Rows
spec: delivery
role: device
clauses: [SND-001]
requires: [clock]
"""
NUMBERS = """\
for_each:
  - {case: day, wait: 1d}
  - {case: day-and-1ms, wait: 1d+1ms}
  - {case: earlier, wait: 5m}
steps:
  - send: {as: A, body: {bytes: 10}}
  - expect: {push: {of: A}, times: 2}
  - advance: $wait
"""
KINDS = """\
for_each:
  - {case: bad-signature, fault: bad_signature}
  - {case: truncated, fault: truncated}
steps:
  - register_handler
  - deliver: {as: A, from: bob, fault: $fault}
  - expect: {deliver_ack: A}
"""


def ids(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "rows.yaml").write_text(HEAD + text, encoding="utf-8")
    return [case.id for case in load_cases(str(tmp_path), Path())]


def test_rows_that_differ_in_numbers_only_are_swept_once(tmp_path: Path) -> None:
    assert ids(tmp_path, NUMBERS) == [
        "ROWS-001[day]",
        "ROWS-001[day]+killed",
        "ROWS-001[day-and-1ms]",
        "ROWS-001[earlier]",
    ]


def test_rows_that_tell_another_story_are_swept_each(tmp_path: Path) -> None:
    assert ids(tmp_path, KINDS.replace("requires: [clock]\n", "")) == [
        "ROWS-001[bad-signature]",
        "ROWS-001[bad-signature]+killed",
        "ROWS-001[truncated]",
        "ROWS-001[truncated]+killed",
    ]


def test_a_vector_that_says_why_is_not_swept(tmp_path: Path) -> None:
    assert ids(tmp_path, "not_swept: it is enough once\n" + NUMBERS) == [
        "ROWS-001[day]",
        "ROWS-001[day-and-1ms]",
        "ROWS-001[earlier]",
    ]


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="--vectors=nowhere: there is no such file or folder"):
        load_cases("nowhere", tmp_path)
