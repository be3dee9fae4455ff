"""The sessions that the kit's devices have with a relay, and all that comes on them, without a thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from conformance.drivers import key_ring
from conformance.drivers.bare_connections import BareConnections
from conformance.drivers.channel import Channel, RefusedError
from conformance.drivers.relay_program import RelayProgram
from conformance.drivers.relay_session import KIND_WORDS, RelaySession
from conformance.drivers.socket_watch import SocketWatch
from conformance.messages import notification
from conformance.outcome import DriverDiedError, DriverError, SpecBrokenError
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.errors import WireError, WrongRelayKeyError
from reference_impl.wire.frames import DeliverAck
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.profile import WireProfile
from reference_impl.wire.relay_address import RelayAddress

WATCH_SECONDS = 0.1
"""How often a silent relay is looked after: it may have ended without closing anything."""
ECHO_SECONDS = 2.0
"""How long an echo of a heartbeat is waited for. A relay that does not echo is only given time."""
HEARTBEAT_SECONDS = 20.0
"""A device that cannot be sure of echoes sends heartbeats no oftener, well within the 25 s of the spec."""
PUSH_SESSION_SECONDS = 15.0
"""A Push Session that is older is left for a new one, well before the relay may close it (RLY-024)."""
LEAVING_SECONDS = 1.0
"""How long a session that the device leaves, or that a polite stop ends, may take to be closed by the relay."""


class RelayTraffic:
    """Sessions by name. What the relay does on them goes into `outgoing`, as messages to the kit.

    `fault` is what the relay did that no message tells: the first of it, for whoever next asks for a message.
    """

    def __init__(self, program: RelayProgram, profile: WireProfile, reply_seconds: float) -> None:
        self.outgoing: deque[JsonObject] = deque()
        self.fault: Exception | None = None
        self.is_muted = False
        """Whether what comes on sessions concerns nobody, since the relay has been asked to end."""
        self.watch = SocketWatch()
        self.bare = BareConnections(self.watch, self.outgoing.append)
        self._program = program
        self._profile = profile
        self._reply_seconds = reply_seconds
        self._address: RelayAddress | None = None
        self._sessions: dict[str, RelaySession] = {}
        self._named = 0
        self._echoes = True
        self._heartbeats_at = 0.0

    # -- the relay as a whole -----------------------------------------------------------------------------------

    def begin(self, address: RelayAddress) -> None:
        """A relay is there."""
        self._address = address

    def end(self) -> None:
        """It is not there any more, and nothing is connected."""
        for session in list(self._sessions.values()):
            self._drop(session)
        self.bare.forget()
        self._address = None
        self.is_muted = False
        self.fault = None

    @property
    def address(self) -> RelayAddress:
        """Raises DriverDiedError where no relay is running."""
        if self._address is None:
            raise DriverDiedError("the relay is not running")
        return self._address

    def port(self, kind: Kind) -> int:
        return self.address.receive_port if kind == "receive" else self.address.push_port

    def ending(self) -> str:
        """How it ended although it should be running; empty otherwise."""
        return "" if self._address is None else self._program.ending()

    def serve(self, seconds: float) -> bool:
        """Take what the relay says within that time, the first of it only. Whether it said anything on a socket."""
        return self.watch.wait(seconds)

    def serve_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Serve the relay until something is so, it has ended, or the time is over. Whether it is so."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0 or self.ending():
                return done()
            self.serve(min(left, WATCH_SECONDS))
        return True

    def beat(self) -> None:
        """Send a heartbeat on each Receive Session: the echo comes behind all that the relay had to say there."""
        receiving = [each for each in self._sessions.values() if each.kind == "receive" and each.is_open]
        if not self._echoes and time.monotonic() - self._heartbeats_at < HEARTBEAT_SECONDS:
            return
        self._heartbeats_at = time.monotonic()
        for session in receiving:
            session.beat()
            self._follow(session)
        if self._echoes:
            self._echoes = self.serve_until(
                lambda: not any(session.echoes for session in receiving if session.is_open), ECHO_SECONDS
            )

    # -- sessions -----------------------------------------------------------------------------------------------

    def connect(self, kind: Kind, device: bytes | None, name: str = "") -> RelaySession:
        """Begin a session, under a name of its own or in place of the one that has this name.

        `device` is the public key of who opens a Receive Session. Raises RefusedError if nobody listens.
        """
        address = self.address
        own = None if device is None or kind == "push" else key_ring.pair_of(device)
        connection = Connection.initiator(self._profile, kind, address.relay_pub, own)
        try:
            channel = Channel.connect(address.host, self.port(kind), self._reply_seconds)
        except RefusedError:
            if self.ending():
                raise DriverDiedError(f"the relay {self.ending()}") from None
            raise
        if not name:
            self._named += 1
            name = f"{kind}-{self._named}"
        session = RelaySession(name, kind, channel, connection, self._profile)
        self._sessions[name] = session
        session.flush()
        self._follow(session)
        return session

    def open(self, number: int, kind: Kind, device: bytes | None) -> None:
        """Open a session for the request of this number, which is answered once the handshake is done, or failed."""
        session = self.connect(kind, device)
        session.opening = number
        if not self.serve_until(lambda: session.opening is None or self.fault is not None, self._reply_seconds):
            self._broke(
                DriverError(
                    f"the relay did not finish the handshake of a {KIND_WORDS[kind]} within {self._reply_seconds:g} s"
                )
            )

    def close(self, name: str) -> None:
        """Leave a session: nothing more is sent, and what still comes concerns nobody."""
        session = self._sessions.get(name)
        if session is not None:
            session.is_over = True
            self._shut(session)
            self.serve_until(lambda: bool(session.channel.closed), LEAVING_SECONDS)
            self._drop(session)

    def leave_all(self) -> None:
        """Have every session say that nothing more is sent."""
        for session in list(self._sessions.values()):
            self._shut(session)

    def push(self, name: str, number: int, body: bytes) -> None:
        """Push for the request of this number. On a session that the relay has ended nothing is sent."""
        session = self._sessions.get(name)
        if session is None or session.is_over:
            return
        if not session.unanswered and time.monotonic() - session.since > PUSH_SESSION_SECONDS:
            self._drop(session)
            session = self.connect("push", None, name)
        session.push(number, body)
        self._follow(session)

    def pushes_are_answered(self) -> bool:
        return not any(session.unanswered for session in self._sessions.values() if not session.is_over)

    def deliver_ack(self, name: str, blob_id: int) -> None:
        """On a session that is over there is no way to send it."""
        session = self._sessions.get(name)
        if session is not None and session.is_open:
            session.send(DeliverAck(blob_id))
            self._follow(session)

    # -- inside -------------------------------------------------------------------------------------------------

    def _follow(self, session: RelaySession) -> None:
        self.watch.watch(session.channel.fileno(), lambda: self._read(session), session.channel.events)

    def _shut(self, session: RelaySession) -> None:
        session.channel.shut()
        self._follow(session)

    def _drop(self, session: RelaySession) -> None:
        self.watch.forget(session.channel.fileno())
        session.channel.close()
        self._sessions.pop(session.name, None)

    def _read(self, session: RelaySession) -> bool:
        """Serve the socket of a session. Whether something moved on it."""
        channel = session.channel
        moved = channel.flush()
        data = channel.read()
        if data and not session.is_over:
            self._take(session, data)
        if channel.closed:
            self._ended(session)
        else:
            self._follow(session)
        return moved or bool(data) or bool(channel.closed)

    def _take(self, session: RelaySession, data: bytes) -> None:
        try:
            session.read(data, self._tell)
        except WrongRelayKeyError:
            session.is_over = True
            self._broke(
                DriverError("the relay proved another key than the manifest or the address says; correct it there")
            )
        except WireError as error:
            session.is_over = True
            self._broke(SpecBrokenError(f"the relay breaks the wire on a {KIND_WORDS[session.kind]}: {error}"))
        except SpecBrokenError as error:
            session.is_over = True
            self._broke(error)

    def _broke(self, fault: Exception) -> None:
        self.fault = self.fault or fault

    def _ended(self, session: RelaySession) -> None:
        """The relay ended it, perhaps before the handshake was done, or after the device had left."""
        self._drop(session)
        if session.is_over:
            return
        session.is_over = True
        for message in session.answer_opening():
            self._tell(message)
        if session.is_known:
            self._tell(notification("session.closed", {"session": session.name}))
        if session.has_answered and len(session.unanswered) == 1 and not (self.is_muted or self.ending()):
            self._push_anew(*session.unanswered[0])

    def _push_anew(self, number: int, body: bytes) -> None:
        """A relay may end a Push Session behind any answer, and a push that crosses that on its way is lost.

        Its sender pushes it anew, as it would any that was not answered. If it cannot, it stays unanswered.
        """
        try:
            session = self.connect("push", None)
        except DriverError:
            return
        session.is_known = False
        session.push(number, body)

    def _tell(self, message: JsonObject) -> None:
        if not self.is_muted:
            self.outgoing.append(message)
