"""The sessions of a Device on sockets: its effects become frames, and what the relay does becomes answers.

One poll loop, no thread: whoever owns the Device calls `wait` and hands on what happened.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from dataclasses import dataclass, field

from reference_impl.device.effects import Accepted, Lost, Opened, PushAnswer, Refused, SessionAnswer, Unsupported
from reference_impl.wire import frames
from reference_impl.wire.connection import Connection, Established, FrameReceived, Kind, VersionRefused
from reference_impl.wire.errors import ConnectionEndedError, ProfileError, WireError
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import WireProfile
from reference_impl.wire.relay_address import RelayAddress

READ_SIZE = 256 * 1024
CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class SessionAnswered:
    """What became of an `OpenReceiveSession`."""

    request: int
    answer: SessionAnswer


@dataclass(frozen=True, slots=True)
class PushAnswered:
    """What became of a `Push`."""

    request: int
    answer: PushAnswer


@dataclass(frozen=True, slots=True)
class BlobCame:
    """A Deliver frame. `blob_id` is a decimal number as text, as the Device names Blobs."""

    session: str
    blob_id: str
    envelope: bytes


@dataclass(frozen=True, slots=True)
class SessionWent:
    """A Receive Session that was open is over."""

    session: str


Happened = SessionAnswered | PushAnswered | BlobCame | SessionWent


@dataclass(slots=True)
class _Peer:
    """One connection. `unsent` are frames that wait for the handshake, `pushes` the requests without an answer."""

    kind: Kind
    socket: socket.socket
    connection: Connection
    request: int = 0
    session: str = ""
    recipient: str = ""
    outgoing: bytearray = field(default_factory=bytearray)
    unsent: list[frames.Frame] = field(default_factory=list)
    pushes: deque[int] = field(default_factory=deque)


class WireSessions:
    """A Receive Session, and a Push Session for each recipient: a blocked one holds up no other (SND-014)."""

    def __init__(self, address: RelayAddress, profile: WireProfile) -> None:
        self._address = address
        self._profile = profile
        self._poll = select.poll()
        self._peers: dict[int, _Peer] = {}
        self._happened: list[Happened] = []
        self._opened = 0

    # -- what the Device wants

    def open_receive_session(self, request: int, own: KeyPair, version: int) -> None:
        peer = self._connect("receive", own, version)
        if peer is None:
            self._happened.append(SessionAnswered(request, Lost()))
        else:
            peer.request = request

    def push(self, request: int, recipient: str, envelope: bytes, version: int) -> None:
        peer = next((each for each in self._peers.values() if each.recipient == recipient), None)
        if peer is None:
            peer = self._connect("push", None, version)
        if peer is None:
            self._happened.append(PushAnswered(request, Lost()))
            return
        peer.recipient = recipient
        peer.pushes.append(request)
        self._send(peer, frames.Push(bytes.fromhex(recipient), envelope))

    def deliver_ack(self, session: str, blob_id: str) -> None:
        """On a session that is over it reaches nobody, and the Blob comes again."""
        for peer in self._peers.values():
            if peer.session == session:
                self._send(peer, frames.DeliverAck(int(blob_id)))

    def heartbeat(self) -> None:
        """On every Receive Session, to be called every 25 s."""
        for peer in self._peers.values():
            if peer.kind == "receive" and peer.connection.established:
                self._send(peer, frames.Heartbeat())

    def close(self) -> None:
        """End every connection, without a word to the Device."""
        for peer in list(self._peers.values()):
            self._forget(peer)
        self._happened.clear()

    # -- what the relay does

    def filenos(self) -> list[int]:
        """What else to poll for `POLLIN`, for who has more to wait for than this."""
        return list(self._peers)

    def wait(self, seconds: float) -> list[Happened]:
        """What has happened; waits at most that long for something to happen."""
        for descriptor, event in self._poll.poll(0 if self._happened else seconds * 1000):
            peer = self._peers.get(descriptor)
            if peer is not None and event & ~select.POLLOUT:
                self._read(peer)
            elif peer is not None:
                self._flush(peer)
        happened, self._happened = self._happened, []
        return happened

    # -- inside

    def _connect(self, kind: Kind, own: KeyPair | None, version: int) -> _Peer | None:
        address = self._address
        port = address.receive_port if kind == "receive" else address.push_port
        try:
            made = socket.create_connection((address.host, port), CONNECT_SECONDS)
        except OSError:
            return None
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = _Peer(kind, made, self.make_connection(kind, own, version))
        self._peers[made.fileno()] = peer
        self._poll.register(made, select.POLLIN)
        self._flush(peer)
        return peer

    def make_connection(self, kind: Kind, own: KeyPair | None, version: int) -> Connection:
        """The wire of a session with the relay whose key the Relay Address names, and no other (SND-032)."""
        return Connection.initiator(self._profile, kind, self._address.relay_pub, own, transport_version=version)

    def note_loss(self, session: str, connection: Connection) -> None:
        """What a lost connection had begun to bring is nothing (RCV-013)."""

    def _send(self, peer: _Peer, frame: frames.Frame) -> None:
        if peer.connection.established:
            peer.connection.send(frame)
            self._flush(peer)
        else:
            peer.unsent.append(frame)

    def _flush(self, peer: _Peer) -> None:
        peer.outgoing += peer.connection.data_to_send()
        try:
            while peer.outgoing:
                del peer.outgoing[: peer.socket.send(peer.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            return  # whoever reads next finds out
        self._poll.modify(peer.socket, select.POLLIN | (select.POLLOUT if peer.outgoing else 0))

    def _read(self, peer: _Peer) -> None:
        try:
            data = peer.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost(peer)
            return
        try:
            events = peer.connection.receive_data(data)
        except ConnectionEndedError:
            return
        except WireError as error:
            for event in error.before:
                self._take(peer, event)
            self._lost(peer)
            return
        for event in events:
            self._take(peer, event)
        if peer.socket.fileno() >= 0:
            self._flush(peer)

    def _take(self, peer: _Peer, event: Established | FrameReceived | VersionRefused) -> None:
        match event:
            case Established():
                self._established(peer)
            case FrameReceived(frames.Deliver(blob_id, envelope)) if peer.session:
                self._happened.append(BlobCame(peer.session, str(blob_id), envelope))
            case FrameReceived(frames.Ack()) if peer.pushes:
                self._happened.append(PushAnswered(peer.pushes.popleft(), Accepted()))
            case FrameReceived(frames.Error(reason)) if peer.pushes:
                self._happened.append(PushAnswered(peer.pushes.popleft(), Refused(self._code(reason))))
            case VersionRefused(low, high):
                self._end(peer, Unsupported(low, high))
            case _:
                """Echoes of heartbeats, and what a later relay may say: nothing is made of it."""

    def _code(self, reason: bytes) -> str:
        """A refusal without a code that says more is one that may pass."""
        try:
            code = self._profile.code_of_body(reason)
        except ProfileError:
            return "internal_error"
        return code if code in self._profile.reasons and code != "generic" else "internal_error"

    def _established(self, peer: _Peer) -> None:
        if peer.kind == "receive":
            self._opened += 1
            peer.session = f"receive-{self._opened}"
            self._happened.append(SessionAnswered(peer.request, Opened(peer.session)))
        for frame in peer.unsent:
            peer.connection.send(frame)
        peer.unsent.clear()

    def _lost(self, peer: _Peer) -> None:
        self.note_loss(peer.session, peer.connection)
        self._end(peer, Lost())

    def _end(self, peer: _Peer, answer: Lost | Unsupported) -> None:
        """It is over: whatever waits for an answer on it has this one."""
        self._forget(peer)
        self._happened += [PushAnswered(request, answer) for request in peer.pushes]
        if peer.session:
            self._happened.append(SessionWent(peer.session))
        elif peer.kind == "receive":
            self._happened.append(SessionAnswered(peer.request, answer))

    def _forget(self, peer: _Peer) -> None:
        self._peers.pop(peer.socket.fileno(), None)
        self._poll.unregister(peer.socket)
        peer.socket.close()
