"""Exponential backoff: how long to wait after which failure."""

from __future__ import annotations


class Backoff:
    """Delays in ms: `first`, then `factor` times longer each time, never more than `maximum` (SND-011)."""

    def __init__(self, first: int, factor: int, maximum: int) -> None:
        self._first = first
        self._factor = factor
        self._maximum = maximum
        self.failures = 0

    def next_delay(self) -> int:
        """Count one more failure, and return how long to wait after it."""
        self.failures += 1
        return self.delay(self.failures)

    def delay(self, failures: int) -> int:
        """The wait after the n-th failure in a row, counted from 1."""
        delay = self._first
        for _ in range(failures - 1):
            if delay >= self._maximum:
                break
            delay *= self._factor
        return min(delay, self._maximum)

    def reset(self) -> None:
        self.failures = 0
