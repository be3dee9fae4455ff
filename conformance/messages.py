"""JSON-RPC 2.0 messages as the driver protocol uses them (https://www.jsonrpc.org/specification)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.outcome import DriverError
from reference_impl.wire.json_types import Json, JsonObject

METHOD_NOT_FOUND = -32601
API_ERROR = 1
_SHAPE = "send one request, notification or answer a line, as adapters/PROTOCOL.md, section 1, says"


def request(number: int, method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(number: int, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def is_response(message: JsonObject) -> bool:
    return "method" not in message


def name(message: Json) -> str:
    """What to call a message in a sentence: its method, or which request it answers."""
    if not isinstance(message, dict):
        return _kind(message)
    if isinstance(message.get("method"), str):
        return str(message["method"])
    return f"an answer to request {message.get('id')}"


def check_envelope(message: Json) -> JsonObject:
    """Return the message if it is a JSON-RPC 2.0 request, notification or response; raise DriverError if not."""
    if not isinstance(message, dict):
        raise DriverError(f"the driver sent {_kind(message)} where a JSON-RPC 2.0 object belongs; {_SHAPE}")
    if message.get("jsonrpc") != "2.0":
        raise DriverError(f'the driver sent {name(message)} without "jsonrpc": "2.0"; {_SHAPE}')
    if "method" in message:
        return _checked_call(message)
    return _checked_response(message)


def _checked_call(message: JsonObject) -> JsonObject:
    method = message["method"]
    if not isinstance(method, str):
        raise DriverError(f"the driver sent a message whose method is not text; {_SHAPE}")
    if not isinstance(message.get("params", {}), dict):
        raise DriverError(f"the driver sent {method} with params that are not an object; {_SHAPE}")
    if "id" in message and not _is_id(message["id"]):
        raise DriverError(f"the driver sent {method} with an id that is not an integer; {_SHAPE}")
    return message


def _checked_response(message: JsonObject) -> JsonObject:
    if not _is_id(message.get("id")):
        raise DriverError(f"the driver sent {name(message)}, and an id is an integer; repeat the id of the request")
    if ("result" in message) == ("error" in message):
        raise DriverError(f"the driver's answer {message['id']} must have either a result or an error; {_SHAPE}")
    if "error" in message and not _is_error(message["error"]):
        raise DriverError(f"the driver's answer {message['id']} has an error without an integer code; {_SHAPE}")
    return message


def _is_id(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_error(value: Json) -> bool:
    return isinstance(value, Mapping) and _is_id(value.get("code"))


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    return {"list": "a list", "str": "a text", "bool": "a truth value"}.get(type(value).__name__, "a number")
