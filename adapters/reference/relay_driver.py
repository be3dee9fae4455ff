"""Puts a reference Relay behind the driver protocol (`adapters/PROTOCOL.md`), as a machine without I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.reference import jsonrpc
from adapters.reference.codec_calls import CodecCalls
from adapters.reference.codec_params import Call
from adapters.reference.disk import Disk
from adapters.reference.jsonrpc import InvalidParamsError, Params, base64_bytes, fields, integer, text
from adapters.reference.relay_messages import effect_message, key, u64
from reference_impl.durability import Crash, When
from reference_impl.relay.effects import Effect
from reference_impl.relay.relay import Relay
from reference_impl.relay.sessions import UnknownSessionError
from reference_impl.relay.settings import RelaySettings, SettingRefusedError
from reference_impl.relay.store import Store, StoreFailedError
from reference_impl.wire.json_types import Json, JsonObject

VERSION = "0.1.0"
CAPABILITIES = ("clock", "settle", "restart", "crash_at_write", "settings", "store_fault", "codec")
SETTINGS = frozenset(
    (
        "ttl",
        "max_blobs_per_inbox",
        "max_bytes_per_inbox",
        "max_envelope_bytes",
        "push_rate_per_second",
        "push_burst",
    )
)

INTERNAL_ERROR = -32603


class NotOpenError(Exception):
    """The call needs an open Relay, or one that is not open yet."""


CODES: dict[type[Exception], int] = {
    InvalidParamsError: jsonrpc.INVALID_PARAMS,
    UnknownSessionError: jsonrpc.INVALID_PARAMS,
    NotOpenError: jsonrpc.INVALID_REQUEST,
    StoreFailedError: INTERNAL_ERROR,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. `result` is None where no answer is due, or where an effect is the answer.

    `before` leaves ahead of the answer, `effects` behind it.
    """

    result: JsonObject | None
    effects: list[Effect] = field(default_factory=list)
    before: list[Effect] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Instance:
    """One Relay, running on its store."""

    relay: Relay
    store: Store


class RelayDriver:
    """One message in, the messages it sends in consequence out, in order.

    Dies with `Crash` where `crash.at_write` struck; what is on the disk is then all that is left.
    """

    def __init__(
        self, disk: Disk[Store], relay_class: type[Relay] = Relay, codec_class: type[CodecCalls] = CodecCalls
    ) -> None:
        self._disk = disk
        self._relay_class = relay_class
        self._instance: Instance | None = None
        self._now = 0
        self._sessions_named = 0
        self._store_fails = False
        self._calls: dict[str, Callable[[Params, int], Outcome]] = {
            "initialize": self._initialize,
            "open": self._open,
            "close": self._close,
            "reset": self._reset,
            "settle": self._settle,
            "clock.advance": self._advance,
            "crash.at_write": self._crash_at_write,
            "store.fail": self._fail_store,
            "receive_session.open": self._open_receive_session,
            "receive_session.close": self._close_receive_session,
            "push_session.open": self._open_push_session,
            "push_session.close": self._close_push_session,
            "push": self._push,
            **{name: partial(_answered, call) for name, call in codec_class().table().items()},
        }

    def handle(self, message: JsonObject) -> list[JsonObject]:
        """Serve one JSON-RPC message. Answers are ignored: this driver asks nothing."""
        try:
            return self._handled(message)
        except Crash as crash:
            if self._instance is not None:
                crash.said = [effect_message(effect) for effect in self._instance.relay.take_effects()]
            raise

    def _handled(self, message: JsonObject) -> list[JsonObject]:
        method, number, params = message.get("method"), message.get("id"), message.get("params", {})
        if not isinstance(method, str):
            return []
        if not isinstance(number, int):
            return self._notified(method, params)
        try:
            return self._called(method, number, params)
        except SettingRefusedError as refused:
            data: JsonObject = {"case": "settingRefused", "setting": refused.setting}
            return [jsonrpc.error(number, jsonrpc.API_ERROR, str(refused), data)]
        except (InvalidParamsError, UnknownSessionError, NotOpenError, StoreFailedError) as problem:
            return [jsonrpc.error(number, CODES[type(problem)], f"{method}: {problem}")]

    def _called(self, method: str, number: int, params: Json) -> list[JsonObject]:
        call = self._calls.get(method)
        if call is None:
            return [
                jsonrpc.error(number, jsonrpc.METHOD_NOT_FOUND, f"There is no method {method!r} in the role relay.")
            ]
        if not isinstance(params, Mapping):
            raise InvalidParamsError("params is not an object.")
        outcome = call(params, number)
        answer = [] if outcome.result is None else [jsonrpc.result(number, outcome.result)]
        before = [effect_message(effect) for effect in outcome.before]
        return before + answer + [effect_message(effect) for effect in outcome.effects]

    def _notified(self, method: str, params: Json) -> list[JsonObject]:
        if method != "deliver_ack" or not isinstance(params, Mapping) or self._instance is None:
            return []
        try:
            session, blob_id = text(params, "session"), u64(params, "blob_id")
        except InvalidParamsError:
            return []
        effects = self._instance.relay.deliver_ack(session, blob_id)
        return [effect_message(effect) for effect in effects]

    # The life of the driver

    def _initialize(self, _params: Params, _number: int) -> Outcome:
        return Outcome(
            {
                "name": self._relay_class.__name__,
                "version": VERSION,
                "role": "relay",
                "protocol_version": 1,
                "capabilities": list(CAPABILITIES),
            }
        )

    def _open(self, params: Params, _number: int) -> Outcome:
        if self._instance is not None:
            raise NotOpenError("A Relay is open already, close it or reset.")
        folder, now = text(params, "data_folder"), integer(params, "now")
        settings = _settings(fields(params, "settings"))
        store = self._disk.open(folder)
        store.counter.disarm()
        store.failing = self._store_fails = False
        try:
            relay = self._relay_class(store, settings, now)
        except SettingRefusedError:
            store.close()
            raise
        self._now = now
        self._instance = Instance(relay, store)
        return Outcome({})

    def _close(self, _params: Params, _number: int) -> Outcome:
        self._running()
        self._forget()
        return Outcome({})

    def _reset(self, _params: Params, _number: int) -> Outcome:
        self._forget()
        self._store_fails = False
        return Outcome({})

    def _forget(self) -> None:
        if self._instance is not None:
            self._instance.store.counter.disarm()
            self._instance.store.close()
        self._instance = None

    def _running(self) -> Instance:
        if self._instance is None:
            raise NotOpenError("No Relay is open, open one first.")
        return self._instance

    # Time, and faults

    def _settle(self, _params: Params, _number: int) -> Outcome:
        relay = self._running().relay
        timer = relay.next_timer()
        return Outcome({"next_timer": timer}, before=relay.take_effects())

    def _advance(self, params: Params, _number: int) -> Outcome:
        relay = self._running().relay
        self._now = max(self._now, integer(params, "now"))
        effects = relay.advance(self._now)
        return Outcome({"next_timer": relay.next_timer()}, effects)

    def _crash_at_write(self, params: Params, _number: int) -> Outcome:
        write = integer(params, "write")
        if write < 1:
            raise InvalidParamsError("write is counted from 1.")
        self._running().store.counter.arm(write, _when(params))
        return Outcome({})

    def _fail_store(self, params: Params, _number: int) -> Outcome:
        mode = text(params, "mode")
        if mode not in ("failing", "working"):
            raise InvalidParamsError("mode is neither failing nor working.")
        self._store_fails = mode == "failing"
        self._running().store.failing = self._store_fails
        return Outcome({})

    # Sessions

    def _open_receive_session(self, params: Params, _number: int) -> Outcome:
        relay, device = self._running().relay, key(params, "device")
        session = self._new_session_name("receive")
        return Outcome({"session": session}, relay.open_receive_session(session, device, self._now))

    def _close_receive_session(self, params: Params, _number: int) -> Outcome:
        return Outcome({}, self._running().relay.close_receive_session(text(params, "session")))

    def _open_push_session(self, _params: Params, _number: int) -> Outcome:
        session = self._new_session_name("push")
        return Outcome({"session": session}, self._running().relay.open_push_session(session))

    def _close_push_session(self, params: Params, _number: int) -> Outcome:
        return Outcome({}, self._running().relay.close_push_session(text(params, "session")))

    def _push(self, params: Params, number: int) -> Outcome:
        relay, session = self._running().relay, text(params, "session")
        return Outcome(None, relay.push(session, number, base64_bytes(params, "body"), self._now))

    def _new_session_name(self, kind: str) -> str:
        self._sessions_named += 1
        return f"{kind}-{self._sessions_named}"


def _answered(call: Call, params: Params, _number: int) -> Outcome:
    return Outcome(call(params))


def _settings(params: Params) -> RelaySettings:
    unknown = sorted(set(params) - SETTINGS)
    if unknown:
        raise InvalidParamsError(f"settings has {unknown[0]!r}, which is none of {', '.join(sorted(SETTINGS))}.")
    return replace(RelaySettings(), **{name: integer(params, name) for name in params})


def _when(params: Params) -> When:
    when = text(params, "when")
    if when == "before":
        return "before"
    if when == "after":
        return "after"
    raise InvalidParamsError("when is neither before nor after.")
