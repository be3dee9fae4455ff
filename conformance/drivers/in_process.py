"""A driver that lives in this process: the reference and its mutants, at the speed of a function call."""

from __future__ import annotations

import contextlib
import traceback
from collections import deque
from collections.abc import Callable
from typing import Protocol

from conformance.drivers.link import Silence
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.durability import Crash
from reference_impl.wire.json_types import Json, JsonObject


class MessageMachine(Protocol):
    """A driver without its pipes: one message in, the messages it sends in consequence out."""

    def handle(self, message: JsonObject) -> list[JsonObject]: ...


Boot = Callable[[], MessageMachine]
"""Starts the program anew on the disk it has."""


class InProcessLink:
    """Runs a message machine. The disk that `new_disk` lays out outlives a kill, the machine does not."""

    serves_many_cases = False
    is_live = False

    def __init__(self, new_disk: Callable[[], Boot]) -> None:
        self._new_disk = new_disk
        self._boot: Boot | None = None
        self._machine: MessageMachine | None = None
        self._outgoing: deque[JsonObject] = deque()
        self._last_words = ""

    def start(self) -> None:
        self._outgoing.clear()
        if self._boot is None:
            self._boot = self._new_disk()
        self._machine = self._boot()

    def send(self, message: JsonObject) -> None:
        if self._machine is None:
            return
        try:
            self._outgoing.extend(self._machine.handle(message))
        except Crash as crash:
            self._outgoing.extend(crash.said)
            self._machine = None
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is the driver's, not the kit's
            self._last_words = "".join(traceback.format_exception(error))
            self._machine = None
            raise DriverError(f"the driver raised {type(error).__name__}: {error}") from None

    def receive(self, seconds: float) -> Json:  # noqa: ARG002 - nothing comes later that is not here yet
        if self._outgoing:
            return self._outgoing.popleft()
        if self._machine is None:
            raise DriverDiedError("the driver ended")
        raise Silence

    def has_more(self) -> bool:
        return bool(self._outgoing)

    def kill(self) -> None:
        self._machine = None
        self._outgoing.clear()

    def stop(self) -> None:
        self.kill()
        self._boot = None

    def data_folder(self) -> contextlib.AbstractContextManager[str]:
        """Nothing is written, and a name is enough."""
        return contextlib.nullcontext("memory")

    def last_words(self) -> str:
        return self._last_words
