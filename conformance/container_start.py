"""What a container costs at its start, and at a kill with the start that follows: for the benchmark."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from conformance.adapter import find
from conformance.drivers.link import Link
from conformance.outcome import DriverError

ADAPTER = "reference-container"
ROUNDS = 5


def measured(rounds: int = ROUNDS) -> str:
    """A line of the report: times in ms, or why there are none."""
    link = find(ADAPTER, Path()).link("relay")
    try:
        first = _timed(link)
        again = [_timed(link) for _ in range(rounds)]
    except DriverError as error:
        return f"a container's start: not measured, for {error}"
    finally:
        link.stop()
    return (
        f"a container's start: {first * 1000:.0f} ms the first time (the container is created), "
        f"{statistics.median(again) * 1000:.0f} ms for a kill and the start that follows, without the program's own"
    )


def _timed(link: Link) -> float:
    """The seconds of a start, which ends with SIGKILL what ran before."""
    begun = time.perf_counter()
    link.start()
    return time.perf_counter() - begun
