"""A driver for your relay: the loop is done, the relay behind it is a toy that you replace.

It speaks the driver protocol (adapters/PROTOCOL.md in the kit) over stdin and stdout, with Python alone. The toy keeps
its inboxes in memory, so the first vectors pass and everything about crashes, limits and time does not run or fails.
Replace `ToyRelay` by calls into your relay, then promise more in CAPABILITIES.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any  # a toy may say Any: what comes in is checked by the kit

CAPABILITIES = ["settle"]  # then: clock, restart, settings, store_fault, crash_at_write
KEY_BYTES = 32
Params = dict[str, Any]


def say(message: Params) -> None:
    """Write one message. Nothing else may go to stdout; log to stderr."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


class ToyRelay:
    """One inbox a device, in memory."""

    def __init__(self) -> None:
        self.inboxes: dict[str, dict[str, bytes]] = defaultdict(dict)
        self.sessions: dict[str, str] = {}
        self.last_id = 0

    def new_id(self) -> str:
        self.last_id += 1
        return str(self.last_id)

    def open_session(self, device: str) -> str:
        session = f"session-{self.new_id()}"
        self.sessions[session] = device
        return session

    def push(self, body: bytes) -> None:
        device = body[:KEY_BYTES].hex()
        blob_id = self.new_id()
        self.inboxes[device][blob_id] = body[KEY_BYTES:]
        for session, owner in self.sessions.items():
            if owner == device:
                self.deliver(session, blob_id)

    def deliver(self, session: str, blob_id: str) -> None:
        envelope = base64.b64encode(self.inboxes[self.sessions[session]][blob_id]).decode()
        say({"method": "deliver", "params": {"session": session, "blob_id": blob_id, "envelope": envelope}})

    def deliver_ack(self, session: str, blob_id: str) -> None:
        self.inboxes[self.sessions.get(session, "")].pop(blob_id, None)


class Driver:
    """Turns messages into calls. A method that is missing here is answered with -32601, as the protocol wants."""

    def __init__(self) -> None:
        self.relay = ToyRelay()
        self.calls: dict[str, Callable[[Params], Params]] = {
            "initialize": self.initialize,
            "open": self.open,
            "reset": self.open,
            "close": lambda params: {},
            "settle": lambda params: {"next_timer": None},
            "receive_session.open": lambda params: {"session": self.relay.open_session(params["device"])},
            "receive_session.close": self.close_session,
            "push_session.open": lambda params: {"session": f"push-{self.relay.new_id()}"},
            "push_session.close": lambda params: {},
            "push": self.push,
            "deliver_ack": self.deliver_ack,
        }

    def initialize(self, params: Params) -> Params:
        return {
            "name": "@NAME@",
            "version": "0",
            "role": "relay",
            "protocol_version": params["protocol_version"],
            "capabilities": CAPABILITIES,
        }

    def open(self, params: Params) -> Params:
        self.relay = ToyRelay()  # yours opens params["data_folder"] and keeps everything durable there
        return {}

    def close_session(self, params: Params) -> Params:
        self.relay.sessions.pop(params["session"], None)
        return {}

    def push(self, params: Params) -> Params:
        body = base64.b64decode(params["body"])
        if len(body) < KEY_BYTES:
            return {"outcome": "refused", "code": "malformed"}
        self.relay.push(body)
        return {"outcome": "ack"}

    def deliver_ack(self, params: Params) -> Params:
        self.relay.deliver_ack(params["session"], params["blob_id"])
        return {}

    def handle(self, message: Params) -> None:
        call = self.calls.get(message["method"])
        if call is None:
            say({"id": message.get("id"), "error": {"code": -32601, "message": "no such method"}})
            return
        result = call(message.get("params", {}))
        if message["method"] == "receive_session.open":
            say({"id": message["id"], "result": result})
            for blob_id in list(self.relay.inboxes[message["params"]["device"]]):
                self.relay.deliver(result["session"], blob_id)
        elif "id" in message:
            say({"id": message["id"], "result": result})


if __name__ == "__main__":
    driver = Driver()
    for line in sys.stdin:
        driver.handle(json.loads(line))
