"""The benchmark's arithmetic and its copies of the set; what it measures is measured by running it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance import bench, relay_bench
from conformance.bench import Measure
from conformance.run_plan import load_cases


@pytest.mark.parametrize(("seconds", "holds"), [(3.9, True), (4.0, True), (4.1, False)])
def test_a_ratio_is_judged_by_its_budget(seconds: float, holds: bool) -> None:
    measure = Measure("one", "another", seconds, 1.0, 4)
    assert measure.holds is holds
    assert ("within the budget of 4" in str(measure)) is holds


def test_copies_of_the_set_have_ids_of_their_own(tmp_path: Path) -> None:
    bench._copy_vectors(tmp_path, 1)
    bench._copy_vectors(tmp_path, 2)
    copies = [case.vector for case in load_cases(str(tmp_path), Path())]
    once = [case.vector for case in load_cases("", Path())]
    assert len(copies) == 2 * len(once)
    assert {re.sub(r"-COPY[12]$", "", vector) for vector in copies} == set(once)


def test_a_run_that_fails_is_no_measure(tmp_path: Path) -> None:
    (tmp_path / "test_fails.py").write_text("def test_it():\n    assert False\n", encoding="utf-8")
    with pytest.raises(OSError, match=r"pytest test_fails\.py ended with status 1"):
        bench._pytest(["test_fails.py"], str(tmp_path))


def test_the_relay_is_measured_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_bench, "PUSHES", 4)
    monkeypatch.setattr(relay_bench, "IDLE_SESSIONS", 3)
    figures = "\n".join(relay_bench.figures())
    shown = r"pipelined: \d+ a second.*\n.*one after the other: \d+ a second.*\n3 idle Receive Sessions: .* a second"
    assert re.search(shown, figures)
