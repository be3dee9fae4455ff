"""One connection that a device under test has made to the kit's relay."""

from __future__ import annotations

import contextlib
import select
import socket
from collections import deque
from dataclasses import dataclass, field

from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.json_types import JsonObject

READ_SIZE = 256 * 1024


@dataclass(slots=True, eq=False)
class Accepted:
    """`asked` are the requests to the kit's world that its pushes became, `answers` those that cannot be sent yet.

    `session` is what the world calls its Receive Session, `version` the Transport Version that it began with.
    """

    kind: Kind
    socket: socket.socket
    connection: Connection
    session: str = ""
    version: int = 1
    began: bytearray = field(default_factory=bytearray)
    outgoing: bytearray = field(default_factory=bytearray)
    asked: deque[int] = field(default_factory=deque)
    answers: dict[int, JsonObject] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """What to poll for."""
        return select.POLLIN | (select.POLLOUT if self.outgoing else 0)

    def read(self) -> bytes | None:
        """What has come; None if the device has ended it."""
        try:
            return self.socket.recv(READ_SIZE) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def flush(self) -> bool:
        """Send what waits, as far as it fits. Whether anything was sent."""
        self.outgoing += self.connection.data_to_send()
        sent = False
        with contextlib.suppress(OSError):  # BlockingIOError is one; who reads finds out about the others
            while self.outgoing:
                del self.outgoing[: self.socket.send(self.outgoing)]
                sent = True
        return sent
