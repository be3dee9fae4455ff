"""The connection to the relay, as the app sees it, and whether anything may be asked of the relay now."""

from __future__ import annotations

from reference_impl.device.effects import Connection, ConnectionChanged
from reference_impl.device.notices import Notices


class ConnectionTracker:
    """`connecting` from the start. A refused Transport Version lasts until the next connect (SND-020)."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.current = Connection("connecting")

    @property
    def usable(self) -> bool:
        """Whether sessions and pushes may be tried: no hot loop against a relay that refuses (SND-020)."""
        return self.current.state == "connected"

    def connected(self) -> None:
        self._change(Connection("connected"))

    def disconnected(self) -> None:
        self._change(Connection("disconnected"))

    def unsupported(self, minimum: int, maximum: int) -> None:
        self._change(Connection("relayVersionUnsupported", minimum, maximum))

    def _change(self, connection: Connection) -> None:
        if connection != self.current:
            self.current = connection
            self._notices.event(ConnectionChanged(connection))
