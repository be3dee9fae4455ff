"""The smallest Device behind the driver protocol that handles a message: what every faulty driver starts from.

It calls the handler for one Blob after the other and acks each when its handler ends. No store and no checks.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import cast

Fields = dict[str, object]
CAPABILITIES = ["clock", "settle", "restart", "provision"]


class Device:
    """One message in, the messages it sends in consequence out."""

    def __init__(self) -> None:
        self.now = 0
        self.armed = False
        """Set for good by the Blob whose body is `misbehave`: from then on the fault shows."""
        self._requests = 0
        self._waiting: list[Fields] = []
        self._handling: dict[int, Fields] = {}
        self._me: Fields = {}
        self._names: dict[str, str] = {}
        self._calls: dict[str, Callable[[Fields], Fields]] = {
            "initialize": self._initialize,
            "open": self._open,
            "clock.advance": self._advance,
            "settle": lambda _: {"next_timer": None},
            "status": self._status,
        }
        self._plain = ("reset", "close", "relay.connected", "relay.disconnected", "on_event", "on_delivery_issue")

    def handle(self, message: Fields) -> list[Fields]:
        method = message.get("method")
        params = cast("Fields", message.get("params", {}))
        if method is None:
            return self._handled(cast("int", message["id"]))
        if method == "relay.deliver":
            self._waiting.append(params)
            return self._next_call()
        if method == "on_message":
            session: Fields = {"device": self._me["noise_pub"], "transport_version": 1}
            return [self.request("relay.open_receive_session", session), answer(message, {"handle": "handler"})]
        if method in self._plain:
            return [answer(message, {"handle": "listener"})]
        serve = self._calls.get(str(method))
        if serve is None:
            error = {"code": -32601, "message": "There is no such method."}
            return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]
        return [answer(message, serve(params))]

    def request(self, method: str, params: Fields) -> Fields:
        self._requests += 1
        return {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}

    def _initialize(self, _: Fields) -> Fields:
        return {
            "name": "faulty",
            "version": "1",
            "role": "device",
            "protocol_version": 1,
            "capabilities": CAPABILITIES,
        }

    def _open(self, params: Fields) -> Fields:
        self.now = cast("int", params["now"])
        provision = cast("Fields", params["provision"])
        self._me = cast("Fields", provision["identity"])
        self._waiting.clear()
        self._handling.clear()
        manifest = json.loads(base64.b64decode(cast("str", provision["manifest"])))
        self._names = {member["signing_pub"]: member["name"] for member in manifest["members"]}
        return {}

    def _advance(self, params: Fields) -> Fields:
        self.now = cast("int", params["now"])
        return {"next_timer": None}

    def _status(self, _: Fields) -> Fields:
        others = [{"id": key, "name": name} for key, name in self._names.items() if name != self._me["name"]]
        me = {"id": self._me["signing_pub"], **{name: self._me[name] for name in ("name", "noise_pub", "signing_pub")}}
        return {"status": "member", "me": me, "members": others, "connection": {"state": "connected"}}

    def _next_call(self) -> list[Fields]:
        return [] if self._handling or not self._waiting else [self._call_handler(self._waiting.pop(0))]

    def _call_handler(self, blob: Fields) -> Fields:
        sealed = cast("Fields", cast("Fields", blob["envelope"])["sealed"])
        author, body = str(sealed["author_pub"]), str(sealed["body"])
        self.armed = self.armed or base64.b64decode(body) == b"misbehave"
        sender = {"id": author, "name": self._names[author]}
        message_id = _message_id(author, int(str(sealed["sequence"])))
        call = self.request("handler.call", {"message": {"id": message_id, "from": sender, "body": body}})
        self._handling[self._requests] = {"session": blob["session"], "blob_id": blob["blob_id"]}
        return call

    def _handled(self, number: int) -> list[Fields]:
        ack = self._handling.pop(number, None)
        return [notification("relay.deliver_ack", ack), *self._next_call()] if ack else []


def answer(message: Fields, result: Fields) -> Fields:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def notification(method: str, params: Fields) -> Fields:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _message_id(author_pub: str, sequence: int) -> str:
    data = b"trueseal-message-id-v1\0" + bytes.fromhex(author_pub) + sequence.to_bytes(8, "big")
    return "tsm1_" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode("ascii").rstrip("=")
