"""What a vector can expect on a bare connection: one method a kind, as `vectors/README.md` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.delivery.relay_connection_records import (
    ConnectionClosed,
    ErrorCame,
    HeartbeatCame,
    OnConnection,
    VersionRefused,
)
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.engine.world import Expectation, Matcher


def table() -> Mapping[str, Expectation]:
    return {
        "version_refused": _version_refused,
        "error_frame": _error_frame,
        "heartbeat": _heartbeat,
        "disconnected": _disconnected,
    }


def _version_refused(argument: Argument) -> Sequence[Matcher]:
    if argument.value is None:
        return [Matcher("a refusal of the version", lambda record: isinstance(record, VersionRefused))]
    label, low, high = argument.text("via"), argument.number("min", 1), argument.number("max", 1)

    def matches(record: Record) -> bool:
        return isinstance(record, VersionRefused) and (record.connection, record.min, record.max) == (label, low, high)

    return [Matcher(f"unsupported {low}..{high} in plain text on {label}", matches)]


def _error_frame(argument: Argument) -> Sequence[Matcher]:
    if argument.value is None:
        return [Matcher("any Error frame that answers no push", lambda record: isinstance(record, ErrorCame))]
    label, code = argument.text("via"), argument.text("code", "generic")
    return [
        Matcher(
            f"Error {code} on {label}, and nothing besides",
            lambda record: isinstance(record, ErrorCame) and (record.connection, record.code) == (label, code),
        )
    ]


def _heartbeat(argument: Argument) -> Sequence[Matcher]:
    return [_of(HeartbeatCame, argument, "a Heartbeat")]


def _disconnected(argument: Argument) -> Sequence[Matcher]:
    return [_of(ConnectionClosed, argument, "the relay closes")]


def _of(kind: type[OnConnection], argument: Argument, words: str) -> Matcher:
    if argument.value is None:
        return Matcher(f"{words} any connection", lambda record: isinstance(record, kind))
    label = argument.text("of")
    return Matcher(f"{words} on {label}", lambda record: isinstance(record, kind) and record.connection == label)
