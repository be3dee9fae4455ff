"""Counts durable writes and dies at a chosen one: what the stores of the device and of the relay share.

A store calls `before_commit()` right before it makes a transaction durable and `after_commit()` right after.
Both may not return: they are where `crash.at_write` of the driver protocol strikes (CRS-001 to CRS-005).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Literal, NoReturn

from reference_impl.wire.json_types import JsonObject

When = Literal["before", "after"]


class Crash(BaseException):
    """The process died at a durable write. Drop every object, keep what the store had made durable.

    `said` is for whoever owns the pipe: what was to be written there before that write, and has left.
    """

    said: Sequence[JsonObject] = ()


def raise_crash() -> NoReturn:
    """Die as an object does: the exception passes every `except Exception` on its way out."""
    raise Crash("the process died at a durable write, as it was told to")


def kill_process() -> NoReturn:
    """Die as a process does, without clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise Crash("SIGKILL did not end the process")


class WriteCounter:
    """Counts commits, and calls `die` immediately before or after the n-th one from the moment it was armed."""

    def __init__(self, die: Callable[[], NoReturn] = raise_crash) -> None:
        self._die = die
        self._countdown = 0
        self._when: When = "before"
        self.commits = 0

    def arm(self, write: int, when: When) -> None:
        """Die at the `write`-th commit from now, counted from 1. Replaces what was armed before."""
        if write < 1:
            raise ValueError(f"writes are counted from 1, there is no write {write}")
        self._countdown = write
        self._when = when

    def disarm(self) -> None:
        self._countdown = 0

    def before_commit(self) -> None:
        if self._countdown == 1 and self._when == "before":
            self.disarm()
            self._die()

    def after_commit(self) -> None:
        self.commits += 1
        if self._countdown == 1:
            self.disarm()
            self._die()
        if self._countdown > 1:
            self._countdown -= 1
