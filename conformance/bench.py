"""`python -m conformance bench`: what the kit costs, as ratios measured in one run.

Times depend on the machine, ratios hardly do; so the budget is stated in ratios, and no test asserts a time.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance import container_start, relay_bench, socket_runs, timed_pytest
from conformance.codec.files import codec_files
from conformance.data_files import vectors_root
from conformance.drivers.process import ProcessLink
from conformance.messages import request
from conformance.roles import ROLES
from conformance.run_plan import load_cases
from conformance.schema import definitions
from conformance.system import System, Timeouts

ROUND_TRIPS = 2000
ROUNDS = 5
WHOLE_ROUNDS = 3
COPIES = 10
ECHO = """\
import sys

for line in sys.stdin:
    sys.stdout.write(line)
    sys.stdout.flush()
"""
SMALLEST_DRIVER = """\
import json
import sys

HELLO = {
    "name": "smallest", "version": "0", "role": "relay", "protocol_version": 1, "capabilities": ["clock", "settle"],
}
RESULTS = {"initialize": HELLO, "settle": {"next_timer": None}}
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in RESULTS:
        answer["result"] = RESULTS[message["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
EMPTY_TESTS = (
    "import pytest\n\n\n@pytest.mark.parametrize('number', range({count}))\ndef test_nothing(number):\n    pass\n"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the report: two times in seconds, and the most that their ratio may be."""

    what: str
    against: str
    seconds: float
    baseline: float
    budget: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.baseline

    @property
    def holds(self) -> bool:
        return self.ratio <= self.budget

    def __str__(self) -> str:
        verdict = "within" if self.holds else "OVER"
        return (
            f"{self.what}: {_shown(self.seconds)}\n"
            f"  against {self.against}: {_shown(self.baseline)}\n"
            f"  ratio {self.ratio:.2f}, {verdict} the budget of {self.budget:g}"
        )


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench", help="measure what the kit costs, as ratios", description=__doc__)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - every command gets its arguments
    """0 if every ratio is within its budget, 1 if not."""
    count = len(load_cases("", Path()))
    python = sys.version.split()[0]
    print(f"{count} cases, {ROUND_TRIPS} round trips, medians of {ROUNDS} rounds in turns; Python {python}.")
    measures = []
    for measure in (_round_trip, lambda: _against_pytest(count), _growth):
        measures.append(measure())
        print(measures[-1], flush=True)
    for figure in relay_bench.figures():
        print(figure, flush=True)
    for line in socket_runs.measured():
        print(line, flush=True)
    print(container_start.measured(), flush=True)
    return 0 if all(measure.holds for measure in measures) else 1


def _round_trip() -> Measure:
    """What the kit adds to a call: the smallest driver there is, against a pipe that echoes the same line."""
    role = ROLES["relay"]
    link = ProcessLink([sys.executable, "-c", SMALLEST_DRIVER], Path())
    system = System(link, role.name, definitions(role.schemas), Timeouts())
    echo = subprocess.Popen(  # noqa: S603 - this interpreter, with a program of our own
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        system.start()
        calls, echoes = _interleaved(lambda: _calls(system), lambda: _echoes(echo))
    finally:
        system.stop()
        echo.kill()
        echo.communicate()
    return Measure(
        what="a driver round trip over stdio, schema checks on",
        against="an echo of the same line through a bare pipe",
        seconds=calls / ROUND_TRIPS,
        baseline=echoes / ROUND_TRIPS,
        budget=4,
    )


def _calls(system: System) -> float:
    begun = time.perf_counter()
    for _ in range(ROUND_TRIPS):
        system.call("settle", {})
    return time.perf_counter() - begun


def _echoes(echo: subprocess.Popen[str]) -> float:
    if echo.stdin is None or echo.stdout is None:
        raise OSError("the echo has no pipes")
    line = json.dumps(request(1, "settle", {})) + "\n"
    begun = time.perf_counter()
    for _ in range(ROUND_TRIPS):
        echo.stdin.write(line)
        echo.stdin.flush()
        echo.stdout.readline()
    return time.perf_counter() - begun


def _interleaved(one: Callable[[], float], other: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, float]:
    """The medians of both, taken in turns, so that what else the machine does meets both alike."""
    pairs = [(one(), other()) for _ in range(rounds)]
    return statistics.median(each for each, _ in pairs), statistics.median(each for _, each in pairs)


def _against_pytest(count: int) -> Measure:
    """The whole set on the reference in process, against pytest running as many empty parametrised tests."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "test_empty.py"
        empty.write_text(EMPTY_TESTS.format(count=count), encoding="utf-8")
        ours, theirs = _interleaved(
            lambda: _pytest(["--pyargs", "conformance"], folder), lambda: _pytest([empty.name], folder), WHOLE_ROUNDS
        )
    return Measure("the whole set in process", f"{count} empty parametrised tests", ours, theirs, 10)


def _growth() -> Measure:
    """The set ten times over, against the set."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(COPIES):
            _copy_vectors(Path(folder) / "many", number)
        _copy_vectors(Path(folder) / "once", 0)
        before = _pytest(["--pyargs", "conformance", "--vectors=once"], folder)
        many = _pytest(["--pyargs", "conformance", "--vectors=many"], folder)
        after = _pytest(["--pyargs", "conformance", "--vectors=once"], folder)
    return Measure(f"the set {COPIES} times over", "the set once", many, (before + after) / 2, 10.5)


def _copy_vectors(folder: Path, number: int) -> None:
    """A copy of the set under ids of its own."""
    root = vectors_root()
    for spec in sorted({role.spec for role in ROLES.values()}):
        for path in sorted((root / spec).rglob("*.yaml")):
            target = folder / f"copy-{number}" / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = re.sub(r"^(id: \S+)$", rf"\1-COPY{number}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            target.write_text(text, encoding="utf-8")
    for path in codec_files(root):
        target = folder / f"copy-{number}" / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(r'^( *"id": "[^"]+)"', rf'\1-COPY{number}"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        target.write_text(text, encoding="utf-8")


def _pytest(arguments: list[str], folder: str) -> float:
    """The wall time of one pytest run, start-up included. Raises OSError if it does not pass."""
    timed = timed_pytest.run(arguments, folder)
    if timed.status != 0:
        raise OSError(f"pytest {' '.join(arguments)} ended with status {timed.status}:\n{timed.said[-2000:]}")
    return timed.seconds


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e6:.0f} µs"
