"""`driver: tcp`: what a manifest says of a relay that the kit reaches over its sockets, checked and read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from conformance.drivers.relay_manifest import Ready, RelayKey, RelayManifest, Setting, placeholders
from conformance.schema_faults import SchemaFault, nearest
from conformance.strict_yaml import NodePath, Value
from reference_impl.wire.errors import RelayAddressError
from reference_impl.wire.relay_address import RelayAddress, parse

Fields = dict[str, Value]

_PORTS = ("receive_port", "push_port")
_ONLY_STARTED = ("environment", "settings", "ready", "relay_key", "stop")
_ONLY_HERE = ("address", *_ONLY_STARTED, "wire")
_WORDS = ("python", "data", *_PORTS, "health_port")
# What may stand in braces, by the place in the manifest; the longest that fits counts.
_ALLOWED: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("command",): _WORDS,
    ("environment",): _WORDS,
    ("ready", "http"): _WORDS,
    ("relay_key", "file"): ("data",),
    ("relay_key", "command"): ("python", "data"),
    ("settings",): ("value",),
}


def faults(fields: Fields) -> Iterator[SchemaFault]:
    """What the schema cannot say, or not in words: what goes with what, placeholders, patterns, the address."""
    if fields["driver"] != "tcp":
        yield from _strangers(fields)
        return
    yield from _shape(fields)
    yield from _placeholder_faults(fields)
    yield from _missing(fields)
    yield from _patterns(fields)
    yield from _address_faults(fields)


def manifest(fields: Fields) -> RelayManifest | None:
    """How the relay is started, of fields without faults. None where only an address is given."""
    if "address" in fields:
        return None
    stop: Literal["SIGTERM", "SIGINT"] = "SIGINT" if fields.get("stop") == "SIGINT" else "SIGTERM"
    return RelayManifest(
        command=_strings(fields.get("command")),
        environment={name: str(text) for name, text in _mapping(fields.get("environment")).items()},
        settings={name: _setting(_mapping(each)) for name, each in _mapping(fields.get("settings")).items()},
        ready=_ready(_mapping(fields.get("ready"))),
        relay_key=_relay_key(_mapping(fields.get("relay_key"))),
        stop=stop,
    )


def address(fields: Fields) -> RelayAddress | None:
    """Where a live relay is, of fields without faults."""
    return parse(str(fields["address"])) if "address" in fields else None


def _strangers(fields: Fields) -> Iterator[SchemaFault]:
    for name in _ONLY_HERE:
        if name in fields and (name, fields[name]) != ("wire", "draft-1"):
            yield SchemaFault((name,), f"is for `driver: tcp`, and this is `driver: {fields['driver']}`.")


def _shape(fields: Fields) -> Iterator[SchemaFault]:
    if ("address" in fields) == bool({"command", "image"} & set(fields)):
        yield SchemaFault(
            ("driver",), "tcp takes either a command or an image, to start a relay, or the address of one that runs."
        )
    elif "address" in fields:
        for name in _ONLY_STARTED:
            if name in fields:
                yield SchemaFault((name,), "is for a relay that the kit starts, and this one runs at its `address`.")
    elif "relay_key" not in fields:
        yield SchemaFault((_starter(fields),), "`relay_key` is missing: where the relay's public key is found.")
    for name, each in _mapping(fields.get("settings")).items():
        yield from _one_of(("settings", name), _mapping(each), ("arguments", "environment"))
    for name, ways in (("ready", ("http", "line")), ("relay_key", ("hex", "file", "line"))):
        if name in fields:
            yield from _one_of((name,), _mapping(fields[name]), ways)


def _starter(fields: Fields) -> str:
    """What says how the relay is started."""
    return "command" if "command" in fields else "image"


def _one_of(place: NodePath, fields: Fields, ways: tuple[str, ...]) -> Iterator[SchemaFault]:
    if sum(way in fields for way in ways) != 1:
        yield SchemaFault(place, f"takes one of {', '.join(ways)}.")


def _placeholder_faults(fields: Fields) -> Iterator[SchemaFault]:
    for place, text in _texts(fields):
        allowed = next((words for start, words in _ALLOWED.items() if place[: len(start)] == start), None)
        for word in placeholders(text) if allowed is not None else ():
            if allowed is not None and word not in allowed:
                known = ", ".join(f"{{{each}}}" for each in allowed)
                meant = nearest(word, allowed)
                yield SchemaFault(place, f"{{{word}}} is no placeholder here{meant}; there are {known}.")


def _missing(fields: Fields) -> Iterator[SchemaFault]:
    """What a relay must be told, in its command or its environment."""
    told = {
        word for place, text in _texts(fields) if place[0] in ("command", "environment") for word in placeholders(text)
    }
    for word, what in (("data", "where to keep its data"), *((port, "where to listen") for port in _PORTS)):
        if "address" not in fields and word not in told:
            yield SchemaFault(
                (_starter(fields),),
                f"{{{word}}} stands neither in command nor in environment; the relay must be told {what}.",
            )
    if "health_port" in placeholders(str(_mapping(fields.get("ready")).get("http"))) and "health_port" not in told:
        yield SchemaFault(
            ("ready", "http"), "the relay is never told {health_port}; tell it in command or environment."
        )


def _patterns(fields: Fields) -> Iterator[SchemaFault]:
    for part, groups in (("ready", 0), ("relay_key", 1)):
        text = _mapping(fields.get(part)).get("line")
        if not isinstance(text, str):
            continue
        try:
            pattern = re.compile(text)
        except re.error as error:
            yield SchemaFault((part, "line"), f"is no regular expression: {error}.")
        else:
            if groups and pattern.groups != groups:
                yield SchemaFault((part, "line"), "needs one group in ( ), around the 64 hex digits of the key.")


def _address_faults(fields: Fields) -> Iterator[SchemaFault]:
    try:
        address(fields)
    except RelayAddressError as error:
        yield SchemaFault(("address",), str(error))


def _texts(value: Value, place: tuple[str | int, ...] = ()) -> Iterator[tuple[NodePath, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(each, (*place, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _texts(each, (*place, number))


def _setting(fields: Fields) -> Setting:
    return Setting(str(fields["format"]), _strings(fields.get("arguments")), str(fields.get("environment", "")))


def _ready(fields: Fields) -> Ready:
    return Ready(str(fields.get("http", "")), _pattern(fields))


def _relay_key(fields: Fields) -> RelayKey:
    return RelayKey(
        str(fields.get("hex", "")).lower(),
        str(fields.get("file", "")),
        _pattern(fields),
        _strings(fields.get("command")),
    )


def _pattern(fields: Fields) -> re.Pattern[str] | None:
    return re.compile(str(fields["line"]), re.MULTILINE) if "line" in fields else None


def _strings(value: Value) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()


def _mapping(value: Value) -> Fields:
    return value if isinstance(value, dict) else {}
