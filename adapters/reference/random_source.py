"""Random bytes from a seed: fresh for every call, the same again for the same seed."""

from __future__ import annotations

import hashlib


class SeededBytes:
    """Call it with a number of bytes. Two seeds share no output."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        self._calls += 1
        return hashlib.shake_256(self._seed + self._calls.to_bytes(8, "big")).digest(size)
