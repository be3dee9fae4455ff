"""The line loop of a driver program: one JSON message a line in, the driver's messages out.

For any driver written in Python; a driver in another language needs nothing of this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import BinaryIO, Protocol

from reference_impl.wire.json_types import JsonObject

PARSE_ERROR = -32700
DECODE = json.JSONDecoder().decode
NOT_A_MESSAGE: JsonObject = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": PARSE_ERROR, "message": "The line is not a JSON object. Send one JSON-RPC message a line."},
}


class Driver(Protocol):
    """What a driver has to be: a machine that turns one message into those it sends in consequence."""

    def handle(self, message: JsonObject) -> list[JsonObject]: ...


def serve(driver: Driver, source: Iterable[bytes] | None = None, sink: BinaryIO | None = None) -> None:
    """Serve `driver` on stdin and stdout until stdin ends. Flushes once per line read."""
    lines = sys.stdin.buffer if source is None else source
    out = sys.stdout.buffer if sink is None else sink
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    for line in lines:
        answers = _answers(driver, line)
        if answers:
            out.write("".join([encode(answer) + "\n" for answer in answers]).encode("utf-8"))
            out.flush()


def _answers(driver: Driver, line: bytes) -> list[JsonObject]:
    try:
        message = DECODE(line.decode("utf-8"))
    except ValueError:
        return [NOT_A_MESSAGE]
    return driver.handle(message) if isinstance(message, dict) else [NOT_A_MESSAGE]
