"""A relay behind its sockets: the kit's own driver, which takes the driver protocol's messages and speaks the wire.

It is a link like any other, so that engine, worlds and vectors know nothing of sockets. There is no thread: whatever
comes from the relay is read while the kit waits for something.
"""

from __future__ import annotations

import base64
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from conformance.drivers import key_ring
from conformance.drivers.bare_connections import BareConnections
from conformance.drivers.channel import Channel, RefusedError
from conformance.drivers.link import Silence
from conformance.drivers.refused_settings import refused_setting
from conformance.drivers.relay_program import EndedAtStartError, RelayProgram
from conformance.drivers.relay_session import KIND_WORDS, RelaySession
from conformance.drivers.socket_watch import SocketWatch
from conformance.messages import API_ERROR, METHOD_NOT_FOUND, notification, response
from conformance.outcome import DriverDiedError, DriverError, SpecBrokenError
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.errors import WireError, WrongRelayKeyError
from reference_impl.wire.frames import DeliverAck
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.profile import WireProfile
from reference_impl.wire.relay_address import RelayAddress

WATCH_SECONDS = 0.1
"""How often a silent relay is looked after: it may have ended without closing anything."""
QUIET_SECONDS = 0.05
LIVE_QUIET_SECONDS = 0.5
"""A relay is quiet when nothing came for so long: from this machine, and from another one."""
ECHO_SECONDS = 2.0
"""How long an echo of a heartbeat is waited for. A relay that does not echo is only given time."""
HEARTBEAT_SECONDS = 20.0
"""A device that cannot be sure of echoes sends heartbeats no oftener, well within the 25 s of the spec."""
PUSH_SESSION_SECONDS = 15.0
"""A Push Session that is older is left for a new one, well before the relay may close it (RLY-024)."""
LEAVING_SECONDS = 1.0
"""How long a session that the device leaves, or that a polite stop ends, may take to be closed by the relay."""
VERSION = "wire"

Params = Mapping[str, Json]
Call = Callable[[int, Params], None]


class TcpRelayLink:
    """See the module. `reply_seconds` bounds each handshake and answer, `stop_seconds` a polite stop."""

    serves_many_cases = True

    def __init__(  # noqa: PLR0913 - what a run over sockets depends on
        self,
        name: str,
        program: RelayProgram,
        profile: WireProfile,
        *,
        takes_settings: bool,
        reply_seconds: float,
        stop_seconds: float,
    ) -> None:
        self._name = name
        self._program = program
        self._profile = profile
        self._takes_settings = takes_settings
        self._reply_seconds = reply_seconds
        self._stop_seconds = stop_seconds
        self._quiet_seconds = LIVE_QUIET_SECONDS if program.is_live else QUIET_SECONDS
        self._was_tried = False
        self._address: RelayAddress | None = None
        self._now = 0
        self._folder = ""
        self._settings: Mapping[str, int] = {}
        self._watch = SocketWatch()
        self._heard: set[int] = set()
        self._sessions: dict[str, RelaySession] = {}
        self._sessions_named = 0
        self._muted = False
        self._echoes = True
        self._heartbeats_at = 0.0
        self._outgoing: deque[JsonObject] = deque()
        self._fault: Exception | None = None
        self._bare = BareConnections(self._watch, self._outgoing.append)
        self._calls: Mapping[str, Call] = {
            "initialize": self._initialize,
            "open": self._open,
            "close": self._close,
            "reset": self._reset,
            "settle": self._settle,
            "clock.advance": self._advance,
            "receive_session.open": self._open_receive_session,
            "receive_session.close": self._close_session,
            "push_session.open": self._open_push_session,
            "push_session.close": self._close_session,
            "push": self._push,
            "connection.open": self._open_connection,
            "connection.write": self._bare_call(self._bare.write),
            "connection.pause": self._bare_call(self._bare.pause),
            "connection.close": self._bare_call(self._bare.close),
        }

    # -- as a link ----------------------------------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        return self._program.is_live

    def start(self) -> None:
        """The relay itself starts at `open`. The first time it is tried out: what is wrong with it is told at once."""
        self.kill()
        if not self._was_tried:
            self._try_out()
            self._was_tried = True

    def send(self, message: JsonObject) -> None:
        method, number, params = str(message["method"]), message.get("id"), message.get("params")
        fields = params if isinstance(params, Mapping) else {}
        if not isinstance(number, int):
            self._deliver_ack(fields)
        elif method in self._calls:
            self._calls[method](number, fields)
        else:
            self._outgoing.append(_error(number, METHOD_NOT_FOUND, f"There is no method {method!r}."))

    def receive(self, seconds: float) -> Json:
        deadline = time.monotonic() + seconds
        while not self._outgoing:
            if self._fault is not None:
                raise self._fault
            if self._address is not None and self._program.ending():
                raise DriverDiedError(f"the relay {self._program.ending()}")
            left = deadline - time.monotonic()
            if not self._serve(min(left, WATCH_SECONDS)) and left <= 0:
                raise Silence
        return self._outgoing.popleft()

    def has_more(self) -> bool:
        self._serve(0)
        return bool(self._outgoing)

    def kill(self) -> None:
        self._program.kill()
        self._forget()

    def stop(self) -> None:
        self.kill()

    def data_folder(self) -> AbstractContextManager[str]:
        return self._program.data_folder()

    def last_words(self) -> str:
        return self._program.last_words()

    # -- the relay's life ---------------------------------------------------------------------------------------

    def _initialize(self, number: int, params: Params) -> None:
        capabilities: list[Json] = ["settle", "elapse", "tcp"]
        if not self.is_live:
            capabilities.append("restart")
        if self._takes_settings:
            capabilities.append("settings")
        self._answer(
            number,
            {
                "name": self._name,
                "version": f"over TCP, {params['wire']}",
                "role": "relay",
                "protocol_version": 1,
                "capabilities": capabilities,
            },
        )

    def _open(self, number: int, params: Params) -> None:
        settings = {name: value for name, value in _fields(params["settings"]).items() if isinstance(value, int)}
        self._now = int(str(params["now"]))
        folder = str(params["data_folder"])
        before, self._folder = self._folder, folder
        try:
            self._started(settings, folder)
        except EndedAtStartError as error:
            if before == folder and settings == self._settings:
                raise SpecBrokenError(
                    f"the relay does not start again on the data that it left: it {error} before it was ready",
                    expected="a start with what was not acked",
                    observed=f"it {error}",
                    clause="RLY-021",
                ) from None
            if not settings:
                raise DriverError(f"the relay {error} before it was ready") from None
            setting = refused_setting(settings, self._program.last_words())
            data: JsonObject = {"case": "settingRefused", "setting": setting}
            self._outgoing.append(_error(number, API_ERROR, f"the relay {error} before it was ready", data))
            return
        self._settings = settings
        self._answer(number, {})

    def _started(self, settings: Mapping[str, int], folder: str) -> RelayAddress:
        address = self._address = self._program.start(settings, folder)
        for descriptor in self._program.outputs():
            self._heard.add(descriptor)
            self._watch.watch(descriptor, partial(self._hear, descriptor))
        return address

    def _close(self, number: int, _params: Params) -> None:
        """A polite stop. The devices stay for a moment, then they leave: a relay may wait for that."""
        self._muted = True
        self._program.ask_to_end()
        self._serve_until(self._has_ended, LEAVING_SECONDS)
        for session in self._sessions.values():
            session.channel.shut()
            self._watch_session(session)
        if not self._serve_until(self._has_ended, self._stop_seconds):
            raise DriverError(
                f"the relay did not end within {self._stop_seconds:g} s of being asked to; let it end, or raise "
                "`timeouts.start` in the manifest"
            )
        self._program.kill()
        self._forget(keep_messages=True)
        self._answer(number, {})

    def _reset(self, number: int, _params: Params) -> None:
        self.kill()
        self._answer(number, {})

    def _has_ended(self) -> bool:
        return bool(self._program.ending())

    def _forget(self, *, keep_messages: bool = False) -> None:
        """Nothing is connected and nothing runs any more."""
        for session in self._sessions.values():
            self._watch.forget(session.channel.fileno())
            session.channel.close()
        self._sessions.clear()
        self._bare.forget()
        for descriptor in self._heard:
            self._watch.forget(descriptor)
        self._heard.clear()
        self._address = None
        self._muted = False
        self._fault = None
        if not keep_messages:
            self._outgoing.clear()

    def _try_out(self) -> None:
        """Start the relay once and shake hands on both of its ports. Raises DriverError with what is wrong."""
        with self._program.data_folder() as folder:
            try:
                address = self._started({}, folder)
                for kind in ("receive", "push"):
                    self._greet(address, kind)
            except EndedAtStartError as error:
                raise DriverError(f"the relay {error} before it was ready") from None
            finally:
                self.kill()

    def _greet(self, address: RelayAddress, kind: Kind) -> None:
        session = self._connected(kind, key_ring.STRANGER.public)
        port = _port(address, kind)
        where = f"{address.host}:{port}, where its {KIND_WORDS[kind]}s are to be opened,"
        self._serve_until(lambda: session.is_open or session.is_over or self._fault is not None, self._reply_seconds)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise DriverError(f"{where} is not what was expected: {fault}")
        if not session.is_open:
            late = f"does not finish the handshake within {self._reply_seconds:g} s"
            how = "closes the connection in the handshake" if session.is_over else late
            raise DriverError(
                f"{where} {how}; check that it is this port of the relay, that {address.relay_pub.hex()} is its public "
                f"key, and {self._profile.name} its wire profile"
            )

    # -- time and quiet -----------------------------------------------------------------------------------------

    def _settle(self, number: int, _params: Params) -> None:
        self._serve_until(self._pushes_are_answered, self._reply_seconds / 2)
        self._beat()
        deadline = time.monotonic() + self._reply_seconds / 2
        while self._serve(self._quiet_seconds) and time.monotonic() < deadline:
            pass
        self._answer(number, {"next_timer": None})

    def _advance(self, number: int, params: Params) -> None:
        now = int(str(params["now"]))
        by, self._now = now - self._now, max(self._now, now)
        self._serve_until(lambda: self._fault is not None, by / 1000)
        self._answer(number, {"next_timer": None})

    def _pushes_are_answered(self) -> bool:
        return not any(session.unanswered for session in self._sessions.values() if session.is_open)

    def _beat(self) -> None:
        """An echo comes behind all that the relay had to say on that session."""
        receiving = [each for each in self._sessions.values() if each.kind == "receive" and each.is_open]
        if not self._echoes and time.monotonic() - self._heartbeats_at < HEARTBEAT_SECONDS:
            return
        self._heartbeats_at = time.monotonic()
        for session in receiving:
            session.beat()
            self._watch_session(session)
        if self._echoes:
            self._echoes = self._serve_until(
                lambda: not any(session.echoes for session in receiving if session.is_open), ECHO_SECONDS
            )

    # -- sessions -----------------------------------------------------------------------------------------------

    def _open_receive_session(self, number: int, params: Params) -> None:
        self._open_session(number, "receive", bytes.fromhex(str(params["device"])))

    def _open_push_session(self, number: int, _params: Params) -> None:
        self._open_session(number, "push", None)

    def _open_session(self, number: int, kind: Kind, device: bytes | None) -> None:
        session = self._connected(kind, device)
        session.opening = number
        self._read(session)
        if not self._serve_until(lambda: session.opening is None or self._fault is not None, self._reply_seconds):
            self._fault = self._fault or DriverError(
                f"the relay did not finish the handshake of a {KIND_WORDS[kind]} within {self._reply_seconds:g} s"
            )

    def _connected(self, kind: Kind, device: bytes | None, name: str = "") -> RelaySession:
        """A new connection, under a name of its own or in place of the one that has this name."""
        address = self._running()
        own = None if device is None or kind == "push" else key_ring.pair_of(device)
        connection = Connection.initiator(self._profile, kind, address.relay_pub, own)
        channel = Channel(address.host, _port(address, kind), self._reply_seconds)
        if not name:
            self._sessions_named += 1
            name = f"{kind}-{self._sessions_named}"
        session = RelaySession(name, kind, channel, connection, self._profile)
        self._sessions[session.name] = session
        session.flush()
        self._watch_session(session)
        return session

    def _close_session(self, number: int, params: Params) -> None:
        session = self._sessions.get(str(params["session"]))
        if session is not None:
            session.is_over = True
            session.channel.shut()
            self._watch_session(session)
            self._serve_until(lambda: bool(session.channel.closed), LEAVING_SECONDS)
            self._drop(session)
        self._answer(number, {})

    def _push(self, number: int, params: Params) -> None:
        session = self._sessions.get(str(params["session"]))
        if session is None or session.is_over:
            return  # the relay has ended it, and the kit will hear of that
        if not session.unanswered and time.monotonic() - session.since > PUSH_SESSION_SECONDS:
            self._drop(session)
            session = self._connected("push", None, session.name)
        session.push(number, base64.b64decode(str(params["body"])))
        self._watch_session(session)

    def _deliver_ack(self, params: Params) -> None:
        """On a session that is over there is no way to send it."""
        session = self._sessions.get(str(params.get("session")))
        if session is not None and session.is_open:
            session.send(DeliverAck(int(str(params["blob_id"]))))
            self._watch_session(session)

    def _drop(self, session: RelaySession) -> None:
        self._watch.forget(session.channel.fileno())
        session.channel.close()
        self._sessions.pop(session.name, None)

    # -- bare connections ---------------------------------------------------------------------------------------

    def _open_connection(self, number: int, params: Params) -> None:
        address = self._running()
        kind: Kind = "push" if params["kind"] == "push" else "receive"
        try:
            name = self._bare.open(address.host, _port(address, kind), self._reply_seconds)
        except RefusedError:
            self._answer(number, {"refused": True})
        else:
            self._answer(number, {"connection": name, "relay_pub": address.relay_pub.hex()})

    def _bare_call(self, act: Callable[[Params], None]) -> Call:
        def call(number: int, params: Params) -> None:
            act(params)
            self._answer(number, {})

        return call

    # -- what the relay does ------------------------------------------------------------------------------------

    def _serve(self, seconds: float) -> bool:
        """Take what the relay says within that time, the first of it only. Whether it said anything on a socket."""
        return self._watch.wait(seconds)

    def _serve_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Serve the relay until something is so, it has ended, or the time is over. Whether it is so."""
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0 or (self._address is not None and self._program.ending()):
                return done()
            self._serve(min(left, WATCH_SECONDS))
        return True

    def _hear(self, descriptor: int) -> bool:
        self._program.hear(descriptor)
        if descriptor not in self._program.outputs():
            self._watch.forget(descriptor)
            self._heard.discard(descriptor)
        return False

    def _watch_session(self, session: RelaySession) -> None:
        self._watch.watch(session.channel.fileno(), lambda: self._read(session), session.channel.events)

    def _read(self, session: RelaySession) -> bool:
        """Serve the socket of a session. Whether something moved on it."""
        channel = session.channel
        moved = channel.flush()
        data = channel.read()
        if data and not session.is_over:
            try:
                session.read(data, self._tell)
            except WireError as error:
                self._fault = self._fault or _broken(session, error)
                session.is_over = True
            except SpecBrokenError as error:
                self._fault = self._fault or error
                session.is_over = True
        if channel.closed:
            self._ended(session)
        else:
            self._watch_session(session)
        return moved or bool(data) or bool(channel.closed)

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
        if session.has_answered and len(session.unanswered) == 1:
            self._push_anew(*session.unanswered[0])

    def _push_anew(self, number: int, body: bytes) -> None:
        """A relay may end a Push Session behind any answer, and a push that crosses that on its way is lost.

        Its sender pushes it anew, as it would any that was not answered.
        """
        session = self._connected("push", None)
        session.is_known = False
        session.push(number, body)

    def _tell(self, message: JsonObject) -> None:
        if not self._muted:
            self._outgoing.append(message)

    def _answer(self, number: int, result: JsonObject) -> None:
        """Where the relay has done something that no message tells, that is told in place of an answer."""
        if self._fault is None:
            self._outgoing.append(response(number, result))

    def _running(self) -> RelayAddress:
        if self._address is None:
            raise DriverDiedError("the relay is not running")
        return self._address


def _port(address: RelayAddress, kind: Kind) -> int:
    return address.receive_port if kind == "receive" else address.push_port


def _broken(session: RelaySession, error: WireError) -> Exception:
    what = KIND_WORDS[session.kind]
    if isinstance(error, WrongRelayKeyError):
        return DriverError("the relay proved another key than the manifest or the address says; correct it there")
    return SpecBrokenError(f"the relay breaks the wire on a {what}: {error}")


def _error(number: int, code: int, message: str, data: JsonObject | None = None) -> JsonObject:
    fields: JsonObject = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": fields if data is None else {**fields, "data": data}}


def _fields(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
