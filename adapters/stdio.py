"""The line loop of a driver program: one JSON message a line in, the driver's messages out.

For any driver written in Python; a driver in another language needs nothing of this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO, Protocol

from reference_impl.durability import Crash, kill_process
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
    """Serve `driver` on stdin and stdout until stdin ends. Flushes once per line read.

    Where `crash.at_write` struck, what had left before that write is written, and the process ends as from SIGKILL.
    """
    lines = sys.stdin.buffer if source is None else source
    out = sys.stdout.buffer if sink is None else sink
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    for line in lines:
        try:
            _write(out, answers(driver, line), encode)
        except Crash as crash:
            _write(out, crash.said, encode)
            kill_process()


def _write(out: BinaryIO, messages: Sequence[JsonObject], encode: Callable[[JsonObject], str]) -> None:
    if messages:
        out.write("".join([encode(message) + "\n" for message in messages]).encode("utf-8"))
        out.flush()


def answers(driver: Driver, line: bytes) -> list[JsonObject]:
    try:
        message = DECODE(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return [NOT_A_MESSAGE]
    return driver.handle(message) if isinstance(message, dict) else [NOT_A_MESSAGE]
