"""What a full relay run costs over sockets, and in a container, against one in process: for the benchmark."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

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
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", WORKERS, "-k", chosen]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - this interpreter, and words of our own
            [*command, "--pyargs", "conformance", f"--adapter={adapter}"],
            cwd=folder,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
        )
        seconds = time.perf_counter() - begun
    if done.returncode == 0:
        return seconds, ""
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return seconds, f"not measured, for it ended with status {done.returncode}: {last[-1] if last else 'no word'}"
