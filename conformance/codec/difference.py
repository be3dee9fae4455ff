"""Where what a codec gave differs from what it must give: the field, and the first byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from conformance.strict_yaml import Value
from reference_impl.wire.json_types import Json

_HEX = re.compile(r"(?:[0-9a-f]{2})+")
_NUMBERS = frozenset(("blob_id", "sequence", "sender_timestamp", "version"))
"""Fields whose text is a decimal number and no hex."""
_SHOWN = 16
"""So many bytes of a long value are shown on each side of the first that differs."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as it must be. `where` names it, `at` says which byte differs first, if it is bytes."""

    where: str
    at: str
    expected: str
    observed: str


def first_difference(expected: Value, observed: Json, where: str = "") -> Difference | None:
    """The first field of `expected` that `observed` has otherwise, or not at all. More fields are legal."""
    return next(_differences(expected, observed, where), None)


def _differences(expected: Value, observed: Json, where: str) -> Iterator[Difference]:
    if isinstance(expected, dict) and expected.keys() == {"sha256", "bytes"}:
        yield from _digest(expected, observed, where)
    elif isinstance(expected, dict) and isinstance(observed, Mapping):
        for name, each in expected.items():
            inner = f"{where}.{name}" if where else name
            if name in observed:
                yield from _differences(each, observed[name], inner)
            else:
                yield Difference(inner, "", brief(each), "nothing")
    elif isinstance(expected, list) and isinstance(observed, Sequence) and not isinstance(observed, str):
        yield from _of_lists(expected, observed, where)
    elif isinstance(expected, str) and isinstance(observed, str):
        yield from _of_texts(expected, observed, where)
    elif expected != observed or isinstance(expected, bool) != isinstance(observed, bool):
        yield Difference(where, "", brief(expected), brief(observed))


def _of_lists(expected: list[Value], observed: Sequence[Json], where: str) -> Iterator[Difference]:
    for number, (left, right) in enumerate(zip(expected, observed, strict=False), start=1):
        yield from _differences(left, right, f"{where} {number}".strip())
    if len(expected) != len(observed):
        yield Difference(
            where, "", _count(len(expected), "entry", "entries"), _count(len(observed), "entry", "entries")
        )


def _of_texts(expected: str, observed: str, where: str) -> Iterator[Difference]:
    if expected == observed:
        return
    if where.rpartition(".")[2] in _NUMBERS or not (_is_bytes(expected) and _is_bytes(observed)):
        yield Difference(where, "", brief(expected), brief(observed))
        return
    left, right = bytes.fromhex(expected), bytes.fromhex(observed)
    shorter = min(len(left), len(right))
    place = next((number for number in range(shorter) if left[number] != right[number]), shorter)
    yield Difference(where, f"first at byte {place}", _around(left, place), _around(right, place))


def _digest(expected: dict[str, Value], observed: Json, where: str) -> Iterator[Difference]:
    data = bytes.fromhex(observed) if isinstance(observed, str) and _is_bytes(observed) else None
    if data is None or len(data) != expected["bytes"] or sha256(data).hexdigest() != expected["sha256"]:
        seen = brief(observed) if data is None else f"{_size(data)} with the SHA-256 {sha256(data).hexdigest()}"
        yield Difference(where, "", f"{expected['bytes']} bytes with the SHA-256 {expected['sha256']}", seen)


def _is_bytes(text: str) -> bool:
    return text == "" or _HEX.fullmatch(text) is not None


def _around(data: bytes, place: int) -> str:
    """The bytes about that place, with the one that differs in brackets."""
    start, end = max(0, place - _SHOWN), min(len(data), place + _SHOWN + 1)
    here = f"[{data[place : place + 1].hex()}]" if place < len(data) else "[end]"
    head = ("…" if start else "") + data[start:place].hex()
    tail = data[place + 1 : end].hex() + ("…" if end < len(data) else "")
    return f"{head}{here}{tail} ({_size(data)})"


def _size(data: bytes) -> str:
    return _count(len(data), "byte", "bytes")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def brief(value: Value | Json) -> str:
    """A value on one line, long bytes and texts cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
