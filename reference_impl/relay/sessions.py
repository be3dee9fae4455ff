"""The open sessions: which device each Receive Session belongs to, and what it was sent already."""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import Blob


@dataclass(slots=True)
class ReceiveSession:
    """One Receive Session of `device` (a Noise public key). `sent` are ids of Blobs still stored."""

    name: str
    device: bytes
    sent: set[int] = field(default_factory=set)


class UnknownSessionError(Exception):
    """There is no open session of that name."""


class Sessions:
    """All in memory: a restart ends every session. Names are the caller's, unique while they are open."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._receiving: dict[str, ReceiveSession] = {}
        self._of_device: dict[bytes, dict[str, ReceiveSession]] = {}
        self._pushing: set[str] = set()

    def open_receiving(self, name: str, device: bytes) -> ReceiveSession:
        """Open a Receive Session, sent nothing so far (RLY-005), beside others of the device (RLY-020)."""
        session = self.new_receive_session(name, device)
        self._receiving[name] = session
        self._of_device.setdefault(device, {})[name] = session
        return session

    def new_receive_session(self, name: str, device: bytes) -> ReceiveSession:
        """A session object; nothing is carried over from earlier ones (RLY-005)."""
        return ReceiveSession(name, device)

    def close_receiving(self, name: str) -> None:
        """End a Receive Session. Nothing happens if it ended already."""
        session = self._receiving.pop(name, None)
        if session is not None:
            mine = self._of_device[session.device]
            del mine[name]
            if not mine:
                del self._of_device[session.device]

    def receiving(self, name: str) -> ReceiveSession | None:
        """The open Receive Session of that name, or None."""
        return self._receiving.get(name)

    def of_device(self, device: bytes) -> list[ReceiveSession]:
        """The open Receive Sessions of one device, the oldest first."""
        return list(self._of_device.get(device, {}).values())

    def surplus(self, device: bytes) -> list[ReceiveSession]:
        """The sessions that must go before one more may open: the oldest, being most likely dead."""
        mine = self.of_device(device)
        return mine[: max(0, len(mine) + 1 - self._settings.max_sessions_per_device)]

    def was_sent(self, session: ReceiveSession, blob: Blob) -> bool:
        """Each Blob is sent once a session (RLY-004)."""
        return blob.blob_id in session.sent

    def note_sent(self, session: ReceiveSession, blob: Blob) -> None:
        session.sent.add(blob.blob_id)

    def forget(self, blob: Blob) -> None:
        """The Blob is deleted and will not be sent again, so nobody need remember that it was."""
        for session in self.of_device(blob.recipient):
            session.sent.discard(blob.blob_id)

    def open_pushing(self, name: str) -> None:
        """Open a Push Session; the sender stays anonymous."""
        self._pushing.add(name)

    def close_pushing(self, name: str) -> None:
        """End a Push Session. Nothing happens if it ended already."""
        self._pushing.discard(name)

    def require_pushing(self, name: str) -> None:
        """Raise UnknownSessionError unless that Push Session is open."""
        if name not in self._pushing:
            raise UnknownSessionError(f"There is no open Push Session {name!r}.")
