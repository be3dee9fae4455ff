"""The connection to one driver, whatever it runs in: messages out, messages in, and its violent end."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from reference_impl.wire.json_types import Json, JsonObject


class Link(Protocol):
    """A driver that can be started, talked to and killed. Not thread-safe; one case uses it at a time."""

    serves_many_cases: bool
    """Whether it is worth keeping after a case: `reset` clears a program, a new object is cheaper in process."""

    @property
    def is_live(self) -> bool:
        """Whether it runs by itself: the kit can neither kill it nor clear what it keeps."""
        ...

    def start(self) -> None:
        """Start the driver anew. Raises DriverError with a sentence if it cannot be started."""
        ...

    def send(self, message: JsonObject) -> None:
        """Hand one message to the driver. Raises DriverError if it takes nothing any more."""
        ...

    def receive(self, seconds: float) -> Json:
        """Return the driver's next message.

        Raises Silence if none comes within `seconds`, DriverDiedError if the driver is gone, and DriverError if it
        sends something that is no message.
        """
        ...

    def has_more(self) -> bool:
        """Whether something from the driver, or its end, can be received without waiting."""
        ...

    def kill(self) -> None:
        """End the driver as SIGKILL does: no clean-up, nothing more is read from it."""
        ...

    def stop(self) -> None:
        """Let go of everything: processes, pipes, folders. May be called twice."""
        ...

    def data_folder(self) -> AbstractContextManager[str]:
        """An empty private folder for one run of a vector, as the driver sees its path. It outlives kills."""
        ...

    def last_words(self) -> str:
        """What the driver last wrote to stderr, for the report."""
        ...


class Silence(Exception):  # noqa: N818 - silence is not an error by itself: whoever waits decides what it means
    """Nothing came in time."""
