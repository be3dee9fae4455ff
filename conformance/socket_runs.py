"""What a full relay run costs over sockets, and in a container, against one in process: for the benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance import timed_pytest
from conformance.run_plan import load_cases

WORKERS = "8"
"""A run over sockets mostly waits, so it has more workers than the machine has cores; so have all runs here."""
IN_PROCESS, OVER_TCP, IN_CONTAINER = "reference", "reference-tcp", "reference-relay-image"


def measured() -> Iterator[str]:
    """The lines of the report. There is no budget: what is waited for is the relay's own time."""
    baseline, _ = _run(IN_PROCESS)
    yield f"a full relay run in process: {baseline:.1f} s, with {WORKERS} workers, start-up included"
    for adapter, what in ((OVER_TCP, "over TCP"), (IN_CONTAINER, "over TCP in a container, its starts included")):
        seconds, fault = _run(adapter)
        ratio = f"{seconds:.1f} s, ratio {seconds / baseline:.1f}"
        yield f"  {what}: {fault or ratio}"


def _run(adapter: str) -> tuple[float, str]:
    """The wall time of the vectors of a relay under this adapter, or in words why there is none."""
    areas = {case.vector.partition("-")[0] for case in load_cases("", Path()) if case.role == "relay"}
    chosen = " or ".join(sorted(f"{area}-" for area in areas))
    arguments = ["-n", WORKERS, "-k", chosen, "--pyargs", "conformance", f"--adapter={adapter}"]
    with tempfile.TemporaryDirectory() as folder:
        timed = timed_pytest.run(arguments, folder)
    if timed.status == 0:
        return timed.seconds, ""
    last = timed.said.splitlines() or ["no word"]
    return timed.seconds, f"not measured, for it ended with status {timed.status}: {last[-1]}"
