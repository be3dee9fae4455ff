"""Puts a reference Device behind the driver protocol (`adapters/PROTOCOL.md`), as a machine without I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from adapters.reference import device_messages as messages
from adapters.reference import jsonrpc
from adapters.reference.codec_calls import CodecCalls
from adapters.reference.disk import Disk
from adapters.reference.jsonrpc import InvalidParamsError, Params
from adapters.reference.random_source import SeededBytes
from reference_impl.device.device import Device
from reference_impl.device.effects import CallHandler, Effect, OpenReceiveSession, Push
from reference_impl.device.errors import ApiError
from reference_impl.device.options import Options, Provision
from reference_impl.device.store import Store
from reference_impl.durability import Crash, When
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.key_ring import KeyRing
from reference_impl.wire.plain import PlainCodec
from reference_impl.wire.sealed import SealedCodec

VERSION = "0.1.0"
CAPABILITIES = ("clock", "settle", "restart", "crash_at_write", "provision", "upgrade", "pairing", "codec")
WHENS: dict[str, When] = {"before": "before", "after": "after"}


class NotOpenError(Exception):
    """The call needs an open Device, or one that is not open yet."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One Device, running on its store."""

    device: Device
    store: Store


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to the kit without an answer: what it was, and the number the Device gave it."""

    kind: type[Effect]
    request: int


class DeviceDriver:
    """One message in, the messages it sends in consequence out, in order.

    What a call caused stands before its answer. Dies with `Crash` where `crash.at_write` struck, which carries what
    was sent before that write; what is on the disk is then all that is left.
    """

    def __init__(
        self, disk: Disk[Store], device_class: type[Device] = Device, codec_class: type[CodecCalls] = CodecCalls
    ) -> None:
        self._disk = disk
        self._device_class = device_class
        self._instance: Instance | None = None
        self._plain = False
        self._requests = 0
        self._asked: dict[int, Asked] = {}
        self._calls: dict[str, Callable[[Params], JsonObject]] = {
            "initialize": self._initialize,
            "open": self._open,
            "reset": self._reset,
            "close": self._close,
            "settle": self._settle,
            "clock.advance": self._advance,
            "crash.at_write": self._crash_at_write,
            "on_message": self._on_message,
            "on_event": self._on_event,
            "on_delivery_issue": self._on_delivery_issue,
            "cancel": self._cancel,
            "send": self._send,
            "status": self._status,
            "start_pairing": self._start_pairing,
            "accept": self._accept,
            "cancel_pairing": self._cancel_pairing,
            "join": self._join,
            "cancel_join": self._cancel_join,
            "remove": self._remove,
            "leave": self._leave,
            "destroy_group": self._destroy_group,
            "relay.connected": self._relay_connected,
            "relay.disconnected": self._relay_disconnected,
            **codec_class().table(),
        }
        self._answers: dict[type[Effect], Callable[[int, Params], None]] = {
            OpenReceiveSession: self._session_answered,
            Push: self._push_answered,
            CallHandler: self._handler_answered,
        }

    def handle(self, message: JsonObject) -> list[JsonObject]:
        """Serve one JSON-RPC message: a request, a notification or an answer."""
        try:
            return self._handled(message)
        except Crash as crash:
            crash.said = self._sent()
            raise

    def _handled(self, message: JsonObject) -> list[JsonObject]:
        method = message.get("method")
        if not isinstance(method, str):
            self._answered(message)
            return self._sent()
        if "id" not in message:
            self._notified(method, message.get("params"))
            return self._sent()
        answer = self._called(message["id"], method, message.get("params", {}))
        return [*self._sent(), answer]

    def _called(self, number: Json, method: str, params: Json) -> JsonObject:
        call = self._calls.get(method)
        if call is None:
            text = f"There is no method {method!r} in the role device."
            return jsonrpc.error(number, jsonrpc.METHOD_NOT_FOUND, text)
        try:
            if not isinstance(params, dict):
                raise InvalidParamsError("params is not an object.")
            return jsonrpc.result(number, call(params))
        except ApiError as error:
            return jsonrpc.error(number, jsonrpc.API_ERROR, f"{method}: {error}", {"case": error.case, **error.extras})
        except InvalidParamsError as error:
            return jsonrpc.error(number, jsonrpc.INVALID_PARAMS, f"{method}: {error}")
        except NotOpenError as error:
            return jsonrpc.error(number, jsonrpc.INVALID_REQUEST, f"{method}: {error}")

    def _notified(self, method: str, params: Json) -> None:
        """A Blob. Nobody waits for an answer, so what is not one is passed over."""
        if method == "relay.deliver" and isinstance(params, Mapping) and self._instance is not None:
            session, blob_id = params.get("session"), params.get("blob_id")
            if isinstance(session, str) and isinstance(blob_id, str):
                self._instance.device.blob_delivered(session, blob_id, params.get("envelope"))

    def _answered(self, message: JsonObject) -> None:
        """An answer to a request of this driver. One that is not waited for any more is passed over."""
        number, answer = message.get("id"), message.get("result")
        asked = self._asked.pop(number, None) if isinstance(number, int) else None
        if asked is not None and isinstance(answer, Mapping):
            with suppress(InvalidParamsError):  # an answer has no answer that could say what is wrong with it
                self._answers[asked.kind](asked.request, answer)

    def _session_answered(self, request: int, answer: Params) -> None:
        self._running().session_answered(request, messages.session_answer(answer))

    def _push_answered(self, request: int, answer: Params) -> None:
        self._running().push_answered(request, messages.push_answer(answer))

    def _handler_answered(self, request: int, answer: Params) -> None:
        self._running().handler_ended(request, messages.handler_error(answer))

    def _sent(self) -> list[JsonObject]:
        """The messages for what the Device wants done."""
        if self._instance is None:
            return []
        return [self._message(effect) for effect in self._instance.device.take_effects()]

    def _message(self, effect: Effect) -> JsonObject:
        if isinstance(effect, OpenReceiveSession | Push | CallHandler):
            self._requests += 1
            self._asked[self._requests] = Asked(type(effect), effect.request)
            params = messages.request_params(effect)
            return jsonrpc.request(self._requests, messages.REQUESTS[type(effect)], params)
        return messages.notice_message(effect)

    # The life of the driver

    def _initialize(self, params: Params) -> JsonObject:
        self._plain = jsonrpc.text(params, "envelopes") == "plain"
        return {
            "name": self._device_class.__name__,
            "version": VERSION,
            "role": "device",
            "protocol_version": 1,
            "capabilities": list(CAPABILITIES),
        }

    def _open(self, params: Params) -> JsonObject:
        folder, now, options = jsonrpc.text(params, "data_folder"), jsonrpc.integer(params, "now"), _options(params)
        self._forget()
        store = self._disk.open(folder)
        store.counter.disarm()
        random_bytes = SeededBytes(self._disk.seed(folder))
        codec = PlainCodec() if self._plain else SealedCodec(KeyRing())
        device = self._device_class(store, codec, random_bytes, now, options)
        self._instance = Instance(device, store)
        return {}

    def _reset(self, _params: Params) -> JsonObject:
        self._forget()
        return {}

    def _forget(self) -> None:
        if self._instance is not None:
            self._instance.store.counter.disarm()
            self._instance.store.close()
        self._instance = None
        self._asked.clear()

    def _running(self) -> Device:
        if self._instance is None:
            raise NotOpenError("No Device is open, open one first.")
        return self._instance.device

    # Time and crash points

    def _settle(self, _params: Params) -> JsonObject:
        """Everything was done in the call that caused it: it is quiet already."""
        return {"next_timer": self._running().next_timer()}

    def _advance(self, params: Params) -> JsonObject:
        device = self._running()
        device.advance(jsonrpc.integer(params, "now"))
        return {"next_timer": device.next_timer()}

    def _crash_at_write(self, params: Params) -> JsonObject:
        self._running()
        write, when = jsonrpc.integer(params, "write"), WHENS.get(jsonrpc.text(params, "when"))
        if write < 1:
            raise InvalidParamsError("write is counted from 1.")
        if when is None:
            raise InvalidParamsError("when is neither before nor after.")
        if self._instance is not None:
            self._instance.store.counter.arm(write, when)
        return {}

    # The API

    def _on_message(self, _params: Params) -> JsonObject:
        return {"handle": self._running().on_message()}

    def _on_event(self, _params: Params) -> JsonObject:
        return {"handle": self._running().on_event()}

    def _on_delivery_issue(self, _params: Params) -> JsonObject:
        return {"handle": self._running().on_delivery_issue()}

    def _cancel(self, params: Params) -> JsonObject:
        self._running().cancel(jsonrpc.text(params, "handle"))
        return {}

    def _send(self, params: Params) -> JsonObject:
        return {"message_id": self._running().send(jsonrpc.base64_bytes(params, "body"))}

    def _status(self, _params: Params) -> JsonObject:
        return messages.status(self._running().status())

    def _close(self, _params: Params) -> JsonObject:
        self._running().close()
        return {}

    def _start_pairing(self, _params: Params) -> JsonObject:
        return {"pairing_token": self._running().start_pairing()}

    def _accept(self, params: Params) -> JsonObject:
        self._running().accept(jsonrpc.text(params, "request"))
        return {}

    def _cancel_pairing(self, _params: Params) -> JsonObject:
        self._running().cancel_pairing()
        return {}

    def _join(self, params: Params) -> JsonObject:
        self._running().join(jsonrpc.text(params, "pairing_token"))
        return {}

    def _cancel_join(self, _params: Params) -> JsonObject:
        self._running().cancel_join()
        return {}

    def _remove(self, params: Params) -> JsonObject:
        self._running().remove(jsonrpc.text(params, "member"))
        return {}

    def _leave(self, _params: Params) -> JsonObject:
        self._running().leave()
        return {}

    def _destroy_group(self, _params: Params) -> JsonObject:
        self._running().destroy_group()
        return {}

    # The relay

    def _relay_connected(self, _params: Params) -> JsonObject:
        self._running().relay_connected()
        return {}

    def _relay_disconnected(self, _params: Params) -> JsonObject:
        self._running().relay_disconnected()
        return {}


def _options(params: Params) -> Options:
    limit = params.get("max_payload_bytes")
    return Options(
        max_payload_bytes=None if limit is None else jsonrpc.integer(params, "max_payload_bytes"),
        end_to_end_version=jsonrpc.integer(params, "end_to_end_version"),
        transport_version=jsonrpc.integer(params, "transport_version"),
        provision=_provision(params),
    )


def _provision(params: Params) -> Provision | None:
    if params.get("provision") is None:
        return None
    given = jsonrpc.fields(params, "provision")
    manifest = None if given.get("manifest") is None else jsonrpc.base64_bytes(given, "manifest")
    return Provision(messages.identity(given), manifest)
