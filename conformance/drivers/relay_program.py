"""The seam between the link that speaks the wire and what the relay runs in: a command, a container, or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from reference_impl.wire.relay_address import RelayAddress


class RelayProgram(Protocol):
    """One relay that can be started on a data folder and killed. Not thread-safe."""

    is_live: bool
    """Whether it runs by itself: it can neither be started nor ended here."""

    def start(self, settings: Mapping[str, int], folder: str) -> RelayAddress:
        """Start it and wait until it is ready. Returns where it listens and the key it proves.

        `settings` as the driver protocol writes them. Raises NotRunError for one that cannot be passed,
        EndedAtStartError if it ends before it is ready, DriverError if it cannot be started or never becomes ready.
        """
        ...

    def kill(self) -> None:
        """End it as SIGKILL does."""
        ...

    def ask_to_end(self) -> None:
        """Ask it to end politely, and come back at once."""
        ...

    def ending(self) -> str:
        """How it ended by itself, in words that follow its name; empty while it runs."""
        ...

    def outputs(self) -> Sequence[int]:
        """The descriptors on which it says something; each is to be polled and heard."""
        ...

    def hear(self, descriptor: int) -> None:
        """Read what it said there."""
        ...

    def data_folder(self) -> AbstractContextManager[str]:
        """An empty private folder for one run of a vector, as the program sees its path."""
        ...

    def last_words(self) -> str:
        """The end of what it said, for the report."""
        ...


class EndedAtStartError(Exception):
    """The relay ended before it was ready. The text says how, in words that follow its name."""
