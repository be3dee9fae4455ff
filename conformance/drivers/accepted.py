"""One connection that a device under test has made to the kit's relay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from conformance.drivers.channel import Channel
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.json_types import JsonObject


@dataclass(slots=True, eq=False)
class Accepted:
    """`asked` are the requests to the kit's world that its pushes became, `answers` those that cannot be sent yet.

    `session` is what the world calls its Receive Session.
    """

    kind: Kind
    channel: Channel
    connection: Connection
    session: str = ""
    asked: deque[int] = field(default_factory=deque)
    answers: dict[int, JsonObject] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The Transport Version that it began with."""
        return self.connection.transport_version

    @property
    def is_dropped(self) -> bool:
        return self.channel.fileno() < 0

    def flush(self) -> bool:
        """Send what waits, as far as it fits. Whether anything was sent."""
        return self.channel.write(self.connection.data_to_send())
