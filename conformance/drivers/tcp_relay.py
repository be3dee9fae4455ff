"""A relay behind its sockets: the kit's own driver, which takes the driver protocol's messages and speaks the wire.

It is a link like any other, so that engine, worlds and vectors know nothing of sockets. There is no thread: whatever
comes from the relay is read while the kit waits for something.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from conformance.drivers import key_ring
from conformance.drivers.channel import RefusedError
from conformance.drivers.link import Silence
from conformance.drivers.refused_settings import refused_setting
from conformance.drivers.relay_program import EndedAtStartError, RelayProgram
from conformance.drivers.relay_session import KIND_WORDS
from conformance.drivers.relay_traffic import LEAVING_SECONDS, WATCH_SECONDS, RelayTraffic
from conformance.messages import API_ERROR, METHOD_NOT_FOUND, response
from conformance.outcome import DriverDiedError, DriverError, SpecBrokenError
from reference_impl.wire.connection import Kind
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.profile import WireProfile
from reference_impl.wire.relay_address import RelayAddress

QUIET_SECONDS = 0.05
LIVE_QUIET_SECONDS = 0.5
"""A relay is quiet when nothing came for so long: from this machine, and from another one."""

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
        self._now = 0
        self._folder = ""
        self._settings: Mapping[str, int] = {}
        self._heard: set[int] = set()
        traffic = self._traffic = RelayTraffic(program, profile, reply_seconds)
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
            "connection.write": self._bare_call(traffic.bare.write),
            "connection.pause": self._bare_call(traffic.bare.pause),
            "connection.close": self._bare_call(traffic.bare.close),
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
            self._traffic.outgoing.append(_error(number, METHOD_NOT_FOUND, f"There is no method {method!r}."))

    def receive(self, seconds: float) -> Json:
        deadline = time.monotonic() + seconds
        traffic = self._traffic
        while not traffic.outgoing:
            if traffic.fault is not None:
                raise traffic.fault
            if traffic.ending():
                raise DriverDiedError(f"the relay {traffic.ending()}")
            left = deadline - time.monotonic()
            if not traffic.serve(min(left, WATCH_SECONDS)) and left <= 0:
                raise Silence
        return traffic.outgoing.popleft()

    def has_more(self) -> bool:
        self._traffic.serve(0)
        return bool(self._traffic.outgoing)

    def kill(self) -> None:
        self._program.kill()
        self._forget()
        self._traffic.outgoing.clear()

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
            self._traffic.outgoing.append(_error(number, API_ERROR, f"the relay {error} before it was ready", data))
            return
        self._settings = settings
        self._answer(number, {})

    def _started(self, settings: Mapping[str, int], folder: str) -> RelayAddress:
        address = self._program.start(settings, folder)
        self._traffic.begin(address)
        for descriptor in self._program.outputs():
            self._heard.add(descriptor)
            self._traffic.watch.watch(descriptor, partial(self._hear, descriptor))
        return address

    def _close(self, number: int, _params: Params) -> None:
        """A polite stop. The devices stay for a moment, then they leave: a relay may wait for that."""
        self._traffic.is_muted = True
        self._program.ask_to_end()
        self._traffic.serve_until(self._has_ended, LEAVING_SECONDS)
        self._traffic.leave_all()
        if not self._traffic.serve_until(self._has_ended, self._stop_seconds):
            raise SpecBrokenError(
                f"the relay did not end within {self._stop_seconds:g} s of being asked to",
                expected="it ends within 10 s of the stop signal",
                observed="it goes on running",
                clause="RLY-026",
            )
        self._program.kill()
        self._forget()
        self._answer(number, {})

    def _reset(self, number: int, _params: Params) -> None:
        self.kill()
        self._answer(number, {})

    def _has_ended(self) -> bool:
        return bool(self._program.ending())

    def _forget(self) -> None:
        """Nothing is connected and nothing runs any more."""
        self._traffic.end()
        for descriptor in self._heard:
            self._traffic.watch.forget(descriptor)
        self._heard.clear()

    def _hear(self, descriptor: int) -> bool:
        self._program.hear(descriptor)
        if descriptor not in self._program.outputs():
            self._traffic.watch.forget(descriptor)
            self._heard.discard(descriptor)
        return False

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
        traffic = self._traffic
        session = traffic.connect(kind, key_ring.STRANGER.public)
        where = f"{address.host}:{traffic.port(kind)}, where its {KIND_WORDS[kind]}s are to be opened,"
        traffic.serve_until(
            lambda: session.is_open or session.is_over or traffic.fault is not None, self._reply_seconds
        )
        if traffic.fault is not None:
            raise DriverError(f"{where} is not what was expected: {traffic.fault}")
        if not session.is_open:
            late = f"does not finish the handshake within {self._reply_seconds:g} s"
            how = "closes the connection in the handshake" if session.is_over else late
            raise DriverError(
                f"{where} {how}; check that it is this port of the relay, that {address.relay_pub.hex()} is its public "
                f"key, and {self._profile.name} its wire profile"
            )

    # -- time and quiet -----------------------------------------------------------------------------------------

    def _settle(self, number: int, _params: Params) -> None:
        traffic = self._traffic
        traffic.serve_until(traffic.pushes_are_answered, self._reply_seconds / 2)
        traffic.beat()
        deadline = time.monotonic() + self._reply_seconds / 2
        while traffic.serve(self._quiet_seconds) and time.monotonic() < deadline:
            pass
        self._answer(number, {"next_timer": None})

    def _advance(self, number: int, params: Params) -> None:
        now = int(str(params["now"]))
        by, self._now = now - self._now, max(self._now, now)
        self._traffic.serve_until(lambda: self._traffic.fault is not None, by / 1000)
        self._answer(number, {"next_timer": None})

    # -- sessions -----------------------------------------------------------------------------------------------

    def _open_receive_session(self, number: int, params: Params) -> None:
        self._traffic.open(number, "receive", bytes.fromhex(str(params["device"])))

    def _open_push_session(self, number: int, _params: Params) -> None:
        self._traffic.open(number, "push", None)

    def _close_session(self, number: int, params: Params) -> None:
        self._traffic.close(str(params["session"]))
        self._answer(number, {})

    def _push(self, number: int, params: Params) -> None:
        self._traffic.push(str(params["session"]), number, base64.b64decode(str(params["body"])))

    def _deliver_ack(self, params: Params) -> None:
        self._traffic.deliver_ack(str(params["session"]), int(str(params["blob_id"])))

    # -- bare connections ---------------------------------------------------------------------------------------

    def _open_connection(self, number: int, params: Params) -> None:
        address = self._traffic.address
        kind: Kind = "push" if params["kind"] == "push" else "receive"
        try:
            name = self._traffic.bare.open(address.host, self._traffic.port(kind), self._reply_seconds)
        except RefusedError:
            self._answer(number, {"refused": True})
        else:
            self._answer(number, {"connection": name, "relay_pub": address.relay_pub.hex()})

    def _bare_call(self, act: Callable[[Params], None]) -> Call:
        def call(number: int, params: Params) -> None:
            act(params)
            self._answer(number, {})

        return call

    def _answer(self, number: int, result: JsonObject) -> None:
        """Where the relay has done something that no message tells, that is told in place of an answer."""
        if self._traffic.fault is None:
            self._traffic.outgoing.append(response(number, result))


def _error(number: int, code: int, message: str, data: JsonObject | None = None) -> JsonObject:
    fields: JsonObject = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": fields if data is None else {**fields, "data": data}}


def _fields(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
