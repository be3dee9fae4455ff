"""The argument of a step, read with the types that the vector schema has already established."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

from conformance.durations import parse_duration
from conformance.outcome import VectorError
from reference_impl.wire.json_types import Json

FILLER = b"conformance "


class Argument:
    """Wraps one argument. `whole` names the field that a bare text stands for, as `kill` or `ack_push: A` do."""

    def __init__(self, value: Json, whole: str = "of") -> None:
        if isinstance(value, Mapping):
            self._fields = dict(value)
        elif value is None:
            self._fields = {}
        else:
            self._fields = {whole: value}
        self.value = value

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def get(self, name: str) -> Json:
        return self._fields.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise VectorError(f"{name} must be a text")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        value = self._fields.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise VectorError(f"{name} must be a whole number")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self._fields.get(name, default))

    def duration(self, name: str, default: str = "0s") -> int:
        """In ms."""
        return parse_duration(self.text(name, default))

    def inner(self, name: str, whole: str = "of") -> Argument:
        return Argument(self._fields.get(name), whole)

    def texts(self, name: str) -> list[str]:
        """One text or a list of them."""
        value = self._fields.get(name)
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return [str(each) for each in value]
        raise VectorError(f"{name} must be a text or a list of texts")

    def body(self, name: str, default: str) -> bytes:
        """A body: text, `{bytes: N}` or `{base64: …}`."""
        value = self._fields.get(name, default)
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, Mapping):
            size, encoded = value.get("bytes"), value.get("base64")
            if isinstance(size, int):
                return filler(size)
            if isinstance(encoded, str):
                return base64.b64decode(encoded, validate=True)
        raise VectorError(f"{name} must be a text, {{bytes: N}} or {{base64: …}}")


def filler(size: int) -> bytes:
    """That many bytes, the same for every run and every language."""
    return (FILLER * (size // len(FILLER) + 1))[:size]
