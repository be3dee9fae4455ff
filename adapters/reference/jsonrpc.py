"""JSON-RPC 2.0 as the driver protocol uses it: messages out, params in (`adapters/PROTOCOL.md`, section 1)."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from reference_impl.wire.json_types import Json, JsonObject

API_ERROR = 1
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

Params = Mapping[str, Json]


class InvalidParamsError(Exception):
    """A param is missing or of the wrong kind. The text says which, and what belongs there."""


def result(number: Json, value: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "result": value}


def error(number: Json, code: int, message: str, data: JsonObject | None = None) -> JsonObject:
    details: JsonObject = {"code": code, "message": message}
    if data is not None:
        details["data"] = data
    return {"jsonrpc": "2.0", "id": number, "error": details}


def request(number: int, method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParamsError(f"{name} is not text.")
    return value


def integer(params: Params, name: str) -> int:
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidParamsError(f"{name} is not a whole number.")
    return value


def fields(params: Params, name: str) -> Params:
    value = params.get(name)
    if not isinstance(value, Mapping):
        raise InvalidParamsError(f"{name} is not an object.")
    return value


def base64_bytes(params: Params, name: str) -> bytes:
    try:
        return base64.b64decode(text(params, name), validate=True)
    except ValueError:  # binascii.Error is one, and so is what text beyond ASCII raises
        raise InvalidParamsError(f"{name} is not standard base64 with padding.") from None
