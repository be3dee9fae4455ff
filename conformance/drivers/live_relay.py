"""A relay that runs somewhere by itself: the kit knows its address, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from conformance.outcome import NotRunError
from reference_impl.wire.relay_address import RelayAddress


class LiveRelay:
    """Nothing of it can be started, ended, set or read."""

    is_live = True

    def __init__(self, address: RelayAddress) -> None:
        self._address = address

    def start(self, settings: Mapping[str, int], folder: str) -> RelayAddress:  # noqa: ARG002 - it keeps its own
        if settings:
            raise NotRunError(f"{', '.join(settings)} cannot be set on a relay that the kit did not start")
        return self._address

    def kill(self) -> None:
        """Let it go on."""

    def ask_to_end(self) -> None:
        raise NotRunError("a relay that the kit did not start is not restarted")

    def ending(self) -> str:
        return ""

    def outputs(self) -> Sequence[int]:
        return ()

    def hear(self, descriptor: int) -> None:
        """It says nothing here."""

    def data_folder(self) -> AbstractContextManager[str]:
        return nullcontext("elsewhere")

    def last_words(self) -> str:
        return ""
