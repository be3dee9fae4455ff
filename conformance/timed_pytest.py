"""One run of pytest with its wall time: for the benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timed:
    """A run that ended. `seconds` is its wall time, start-up included; `said` its stdout and then its stderr."""

    seconds: float
    status: int
    said: str


def run(arguments: Sequence[str], folder: str) -> Timed:
    """Run pytest in the folder, without the user's options that would change what is measured."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    begun = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - this interpreter, and words of our own
        command, cwd=folder, capture_output=True, env=environment, check=False, text=True, errors="replace"
    )
    return Timed(time.perf_counter() - begun, done.returncode, f"{done.stdout}\n{done.stderr}".strip())
