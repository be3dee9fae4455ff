"""Waits for whatever becomes ready among many descriptors, and calls who cares for it."""

from __future__ import annotations

import select
from collections.abc import Callable

Ready = Callable[[], bool]
"""Serves a descriptor that is ready. Whether that was news of the other side, and no mere noise."""


class SocketWatch:
    """One poll for all descriptors, kept between waits."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._served: dict[int, tuple[Ready, int]] = {}

    def watch(self, descriptor: int, ready: Ready, events: int = select.POLLIN) -> None:
        """Add a descriptor, or change what it is watched for. One without events is left in peace."""
        known = self._served.get(descriptor)
        self._served[descriptor] = (ready, events)
        if events == 0:
            self._unregister(descriptor, known)
        elif known is None or known[1] == 0:
            self._poll.register(descriptor, events)
        elif known[1] != events:
            self._poll.modify(descriptor, events)

    def forget(self, descriptor: int) -> None:
        """Call it before the descriptor is closed."""
        self._unregister(descriptor, self._served.pop(descriptor, None))

    def wait(self, seconds: float) -> bool:
        """Wait at most that long for something to be ready, and serve all that is. Whether there was news."""
        news = False
        for descriptor, _ in self._poll.poll(max(seconds, 0.0) * 1000):
            served = self._served.get(descriptor)
            if served is not None:
                news = served[0]() or news
        return news

    def _unregister(self, descriptor: int, known: tuple[Ready, int] | None) -> None:
        if known is not None and known[1]:
            self._poll.unregister(descriptor)
