"""What the `codec.*` methods share: their form, how they refuse, and params: bytes as hex, u64 as decimal text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adapters.reference.jsonrpc import InvalidParamsError, Params, text
from reference_impl.wire.json_types import Json, JsonObject

Call = Callable[[Params], JsonObject]


class RefusedError(Exception):
    """The codec refuses these bytes. `reason` is the word of the driver protocol."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def hex_bytes(params: Params, name: str) -> bytes:
    try:
        return bytes.fromhex(text(params, name))
    except ValueError:
        raise InvalidParamsError(f"{name} is not hex.") from None


def u64(params: Params, name: str) -> int:
    number = text(params, name)
    if not (number.isascii() and number.isdigit()):
        raise InvalidParamsError(f"{name} is not an unsigned number as decimal text.")
    return int(number)


def entries(params: Params, name: str) -> list[Params]:
    value: Json = params.get(name)
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        raise InvalidParamsError(f"{name} is not a list of objects.")
    return [entry for entry in value if isinstance(entry, Mapping)]
