"""One connection of a Relay, on the asyncio loop: bytes to frames, frames to the Relay, and its deadlines.

Nothing here waits: a peer that is slow, silent or hostile holds up no other (RLY-022).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import ClassVar, Protocol

from reference_impl.relay.event_log import log
from reference_impl.relay.options import Deadlines
from reference_impl.wire import frames
from reference_impl.wire.connection import Connection, Established, Event, FrameReceived, Kind, VersionRefused
from reference_impl.wire.errors import ConnectionEndedError, WireError
from reference_impl.wire.frames import Frame
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import GENERIC, WireProfile

UNSENT_BYTES = 256 * 1024
"""With more than this unsent, a session is given no more Blobs until its peer has read."""
HOPELESS_BYTES = 4 * UNSENT_BYTES
"""With more than this unsent, the peer asks and never reads: it is let go."""


class Host(Protocol):
    """What a session needs of the program it belongs to."""

    profile: WireProfile
    deadlines: Deadlines
    relay_key: KeyPair

    def admit(self, session: WireSession) -> bool:
        """Whether one more connection fits; the session then counts until `gone`."""
        ...

    def established(self, session: WireSession) -> None: ...

    def pushed(self, session: WireSession, body: bytes) -> None: ...

    def acked(self, session: WireSession, blob_id: int) -> None: ...

    def envelope(self, session: WireSession, blob_id: int) -> bytes | None:
        """The Envelope of a Blob that this session is still to be sent, None if it is gone meanwhile."""
        ...

    def gone(self, session: WireSession) -> None: ...


class WireSession(asyncio.Protocol):
    """One connection on one of the two listeners. `name` is a number that means nothing outside this process."""

    linger_seconds: ClassVar[float] = 0.25
    """How long a peer has to close its side too, once everything is sent: closing a socket on which there is still
    something to read resets the connection, and the peer might lose its last answers."""

    _last_number: ClassVar[int] = 0

    def __init__(self, host: Host, kind: Kind) -> None:
        WireSession._last_number += 1
        self.name = f"{kind}-{WireSession._last_number}"
        self.kind: Kind = kind
        self.host = host
        self.connection = self.create_connection()
        self.loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.accepted_at = self.heard_at = self.loop.time()
        self._backlog: deque[int] = deque()
        self.clogged = False
        self._ending = False
        self._admitted = False
        self._reason = "peer_closed"

    def create_connection(self) -> Connection:
        """The wire of this session, in the Transport Versions that the profile names (RLY-017)."""
        profile = self.host.profile
        supported = (profile.transport_version_min, profile.transport_version_max)
        return Connection.responder(profile, self.kind, self.host.relay_key, supported)

    # -- the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream listener makes no other
        self._transport = transport
        transport.set_write_buffer_limits(high=UNSENT_BYTES)
        self._admitted = self.host.admit(self)
        if not self._admitted:
            log("connection_refused", listener=self.kind, reason="too_many_connections")
            transport.close()
            return
        self.await_handshake()

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        self.heard_at = self.loop.time()
        try:
            events = self.connection.receive_data(data)
        except ConnectionEndedError:
            return  # what still arrives after the end concerns nobody
        except WireError as error:
            self._serve(error.before)
            self.end("broken_wire")
            return
        self._serve(events)

    def eof_received(self) -> None:
        """The peer ends its stream; what was cut off within a message is dropped (RLY-019)."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if exc is not None:
            self._reason = "connection_lost"
        self.no_deadline()
        if self._admitted:
            if not self._ending:
                log("session_closed", session=self.name, reason=self._reason)
            self.host.gone(self)

    def end(self, reason: str) -> None:
        """Close the connection from this side, once all that was said has been sent. Nothing more is taken from it."""
        if self._transport is None or self._ending or self._transport.is_closing():
            return
        self.flush()
        self._ending = True
        log("session_closed", session=self.name, reason=reason)
        self._transport.resume_reading()
        try:
            self._transport.write_eof()
        except OSError:  # the peer is gone already
            self.cut()
            return
        self._linger(self.loop.time() + self.host.deadlines.shutdown_drain / 1000)

    def _linger(self, latest: float) -> None:
        """Cut a peer that has everything and stays, or that does not even read what it is owed."""
        self.no_deadline()
        now = self.loop.time()
        unsent = self._transport is not None and self._transport.get_write_buffer_size() > 0
        at = min(now + self.linger_seconds, latest) if unsent else now + self.linger_seconds
        self._deadline = self.loop.call_at(at, self._linger_over, latest)

    def _linger_over(self, latest: float) -> None:
        unsent = self._transport is not None and self._transport.get_write_buffer_size() > 0
        if unsent and self.loop.time() < latest:
            self._linger(latest)
        else:
            self.cut()

    def cut(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- what comes in

    def _serve(self, events: list[Event] | tuple[Event, ...]) -> None:
        for event in events:
            if self._ending:
                return
            match event:
                case FrameReceived(frame):
                    self.frame_received(frame)
                case Established():
                    self._established()
                case VersionRefused():
                    self.version_refused()
        self.flush()

    def _established(self) -> None:
        log("session_opened", session=self.name)
        self.flush()
        if self.kind == "push":
            self.bound_push_session()
        else:
            self.watch_idleness()
        self.host.established(self)

    def version_refused(self) -> None:
        """RLY-017: the connection has put the refusal in plain text; nothing comes behind it."""
        self.flush()
        self.end("unsupported_version")

    def frame_received(self, frame: Frame) -> None:
        """Each side has its frames; whatever else comes is answered like a type that nobody knows (RLY-018)."""
        match frame, self.kind:
            case frames.Heartbeat(), _:
                self.heartbeat()
            case frames.Push(recipient_pub, envelope), "push":
                self.host.pushed(self, recipient_pub + envelope)
            case frames.MalformedFrame(frames.PUSH, body), "push":
                self.host.pushed(self, body)
            case frames.DeliverAck(blob_id), "receive":
                self.host.acked(self, blob_id)
            case _:
                self.unknown_frame(frame)

    def heartbeat(self) -> None:
        """RLY-025: echoed."""
        self.send(frames.Heartbeat())

    def unknown_frame(self, frame: Frame) -> None:  # noqa: ARG002 - nothing of it is echoed
        """RLY-018: a generic Error that says nothing about what came; silence where the profile has no such thing."""
        if self.host.profile.unknown_frames == "error":
            self.send(frames.Error(self.host.profile.error_body(GENERIC)))

    # -- what goes out

    def answer(self, code: str | None) -> None:
        """The one answer to the oldest push that has none: an Ack, or an Error with that refusal code (RLY-012)."""
        self.send(frames.Ack() if code is None else frames.Error(self.host.profile.error_body(code)))
        self.flush()

    def deliver(self, blob_id: int, envelope: bytes) -> None:
        """Send a Blob, now or when the peer has read what it was sent before; then it is read from the store again."""
        if self.clogged or self._backlog:
            self._backlog.append(blob_id)
            return
        self.send(frames.Deliver(blob_id, envelope))
        self.flush()

    def send(self, frame: Frame) -> None:
        if self.connection.established:
            self.connection.send(frame)

    def flush(self) -> None:
        self.write(self.connection.data_to_send())

    def write(self, data: bytes) -> None:
        """Hand bytes to the socket, and let a peer go that takes far too few."""
        if data and self._transport is not None and not self._ending and not self._transport.is_closing():
            self._transport.write(data)
            if self._transport.get_write_buffer_size() > HOPELESS_BYTES:
                self._reason = "reads_nothing"
                self._transport.abort()

    def pause_writing(self) -> None:
        """A sender that does not read its answers is not read from either; a recipient's acks are always welcome."""
        self.clogged = True
        if self.kind == "push" and self._transport is not None and not self._ending:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self.clogged = False
        if self.kind == "push" and self._transport is not None:
            self._transport.resume_reading()
        while self._backlog and not self.clogged and not self._ending:
            blob_id = self._backlog.popleft()
            envelope = self.host.envelope(self, blob_id)
            if envelope is not None:
                self.send(frames.Deliver(blob_id, envelope))
                self.flush()

    # -- deadlines

    def await_handshake(self) -> None:
        """RLY-023: the time of a handshake runs from accept."""
        self._end_at(self.accepted_at + self.host.deadlines.handshake_deadline / 1000, "handshake_deadline")

    def bound_push_session(self) -> None:
        """RLY-024: the time of a Push Session runs from accept to close."""
        self._end_at(self.accepted_at + self.host.deadlines.push_session_deadline / 1000, "push_session_deadline")

    def _end_at(self, when: float, reason: str) -> None:
        self.no_deadline()
        self._deadline = self.loop.call_at(when, self.end, reason)

    def no_deadline(self) -> None:
        """Take back the deadline that runs, if one does."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def watch_idleness(self) -> None:
        """RLY-025: one timer for each session, set again when it finds that something was heard meanwhile."""
        self.no_deadline()
        due = self.heard_at + self.host.deadlines.idle_close / 1000
        if self.loop.time() >= due:
            self.end("idle")
        else:
            self._deadline = self.loop.call_at(due, self.watch_idleness)
