"""The end of what a driver wrote to stderr, however much it writes."""

from __future__ import annotations

STDERR_KEPT = 16 * 1024


class LastWords:
    """Keeps the last STDERR_KEPT bytes."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def hear(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-STDERR_KEPT]

    def forget(self) -> None:
        self._kept.clear()

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace")
