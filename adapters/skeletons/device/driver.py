"""A driver for your device SDK: the loop is done, the device behind it is a toy that you replace.

It speaks the driver protocol (adapters/PROTOCOL.md in the kit) over stdin and stdout, with Python alone. The toy pushes
what is sent and hands over what is delivered, in memory: the first vectors pass, everything about crashes, refusals and
time does not run or fails. Replace `ToyDevice` by calls into your SDK, then promise more in CAPABILITIES.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
from collections.abc import Callable
from typing import Any  # a toy may say Any: what comes in is checked by the kit

CAPABILITIES = ["settle", "provision"]  # then: clock, restart, upgrade, pairing, crash_at_write
SYNC = 2
Params = dict[str, Any]


def say(message: Params) -> None:
    """Write one message. Nothing else may go to stdout; log to stderr."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def message_id(author_pub: str, sequence: int) -> str:
    text = b"trueseal-message-id-v1\x00" + bytes.fromhex(author_pub) + sequence.to_bytes(8, "big")
    return "tsm1_" + base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")


class ToyDevice:
    """A member of a group, in memory."""

    def __init__(self, params: Params) -> None:
        provision = params["provision"]
        if provision is None:
            raise RuntimeError("this toy keeps nothing: it cannot be opened a second time on the same folder")
        self.me: Params = provision["identity"]
        manifest = json.loads(base64.b64decode(provision["manifest"])) if provision["manifest"] else {"members": []}
        self.others = [each for each in manifest["members"] if each["noise_pub"] != self.me.get("noise_pub")]
        self.status = "member" if provision["manifest"] else "notJoined"
        self.now: int = params["now"]
        self.sequence = 0

    def send(self, body: str) -> str:
        """Your SDK writes its outbox first; this toy only pushes."""
        self.sequence += 1
        for member in self.others:
            push(member["noise_pub"], self.seal(member["noise_pub"], body))
        return message_id(self.me["signing_pub"], self.sequence)

    def seal(self, recipient: str, body: str) -> Params:
        outer = {"end_to_end_version": 1, "recipient_pub": recipient, "ephemeral_pub": secrets.token_hex(32)}
        author = self.me["signing_pub"]
        sealed = {
            "bound": outer,
            "author_pub": author,
            "sequence": str(self.sequence),
            "parents": [],
            "sender_timestamp": self.now,
            "tag": SYNC,
            "body": body,
            "signature": f"plain:{author}:1:{recipient}:{outer['ephemeral_pub']}",
        }
        return {**outer, "sealed": sealed}

    def receive(self, envelope: Params) -> Params:
        """Your SDK checks version, binding, signature, window, membership and dedup first; this toy does not."""
        sealed = envelope["sealed"]
        sender = next(each for each in self.others if each["signing_pub"] == sealed["author_pub"])
        return {
            "id": message_id(sealed["author_pub"], int(sealed["sequence"])),
            "from": {"id": sender["signing_pub"], "name": sender["name"]},
            "body": sealed["body"],
        }


def push(recipient: str, envelope: Params) -> None:
    ask("relay.push", {"recipient": recipient, "envelope": envelope, "transport_version": 1}, lambda answer: None)


waiting: dict[int, Callable[[Params], None]] = {}
asked = 0


def ask(method: str, params: Params, then: Callable[[Params], None]) -> None:
    """Send a request to the kit; `then` gets the result when it comes. Never wait for it."""
    global asked  # noqa: PLW0603 - one counter for the process: ids are never used again
    asked += 1
    waiting[asked] = then
    say({"id": asked, "method": method, "params": params})


class Driver:
    """Turns messages into calls. A method that is missing here is answered with -32601, as the protocol wants."""

    def __init__(self) -> None:
        self.device: ToyDevice | None = None
        self.connected = False
        self.has_handler = False
        self.calls: dict[str, Callable[[Params], Params]] = {
            "initialize": self.initialize,
            "open": self.open,
            "reset": self.reset,
            "close": lambda params: {},
            "settle": lambda params: {"next_timer": None},
            "relay.connected": self.connect,
            "relay.disconnected": self.disconnect,
            "relay.deliver": self.deliver,
            "on_event": lambda params: {"handle": "events"},
            "on_delivery_issue": lambda params: {"handle": "issues"},
            "on_message": self.on_message,
            "send": lambda params: {"message_id": self.opened().send(params["body"])},
            "status": self.status,
        }

    def initialize(self, params: Params) -> Params:
        return {
            "name": "@NAME@",
            "version": "0",
            "role": "device",
            "protocol_version": params["protocol_version"],
            "capabilities": CAPABILITIES,
        }

    def open(self, params: Params) -> Params:
        self.reset(params)
        self.device = ToyDevice(params)  # yours opens params["data_folder"] and keeps everything durable there
        return {}

    def reset(self, params: Params) -> Params:
        self.device, self.connected, self.has_handler = None, False, False
        waiting.clear()
        return {}

    def opened(self) -> ToyDevice:
        if self.device is None:
            raise RuntimeError("open comes first")
        return self.device

    def connect(self, params: Params) -> Params:
        self.connected = True
        self.open_session()
        return {}

    def disconnect(self, params: Params) -> Params:
        self.connected = False
        return {}

    def on_message(self, params: Params) -> Params:
        self.has_handler = True
        self.open_session()
        return {"handle": "messages"}

    def open_session(self) -> None:
        if self.connected and self.has_handler:
            device = self.opened().me["noise_pub"]
            ask("relay.open_receive_session", {"device": device, "transport_version": 1}, lambda answer: None)

    def deliver(self, params: Params) -> Params:
        ack = {"session": params["session"], "blob_id": params["blob_id"]}
        message = self.opened().receive(params["envelope"])
        ask("handler.call", {"message": message}, lambda _: say({"method": "relay.deliver_ack", "params": ack}))
        return {}

    def status(self, params: Params) -> Params:
        device = self.opened()
        me = {"id": device.me["signing_pub"], **device.me}
        members = [{"id": each["signing_pub"], "name": each["name"]} for each in device.others]
        state = "connected" if self.connected else "disconnected"
        return {"status": device.status, "me": me, "members": members, "connection": {"state": state}}

    def handle(self, message: Params) -> None:
        if "method" not in message:
            if message["id"] in waiting:
                waiting.pop(message["id"])(message["result"])
            return
        call = self.calls.get(message["method"])
        if call is None:
            say({"id": message.get("id"), "error": {"code": -32601, "message": "no such method"}})
            return
        result = call(message.get("params", {}))
        if "id" in message:
            say({"id": message["id"], "result": result})


if __name__ == "__main__":
    driver = Driver()
    for line in sys.stdin:
        driver.handle(json.loads(line))
