"""What the parts of one open Device share: store, codec, versions, limits, the time and the effects so far."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.device.effects import Effect
from reference_impl.device.options import Build
from reference_impl.device.store import Store
from reference_impl.wire.content import Codec


class Context:
    """`now` is in Unix ms and moved by `Device.advance` alone; `random_bytes` gives that many fresh bytes."""

    __slots__ = (
        "_requests",
        "codec",
        "effects",
        "end_to_end_version",
        "limits",
        "now",
        "random_bytes",
        "store",
        "transport_version",
    )

    def __init__(
        self,
        store: Store,
        codec: Codec,
        random_bytes: Callable[[int], bytes],
        now: int,
        build: Build,
    ) -> None:
        self.store = store
        self.codec = codec
        self.random_bytes = random_bytes
        self.now = now
        self.limits = build.limits
        self.end_to_end_version = build.end_to_end_version
        self.transport_version = build.transport_version
        self.effects: list[Effect] = []
        self._requests = 0

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def next_request(self) -> int:
        """A number for a request, never used twice by this object."""
        self._requests += 1
        return self._requests
