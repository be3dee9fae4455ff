"""The Relay's effects as messages to the kit, and the params that only the role relay has."""

from __future__ import annotations

import base64

from adapters.reference.jsonrpc import InvalidParamsError, Params, notification, result, text
from reference_impl.relay.effects import Deliver, Effect, PushAnswered
from reference_impl.wire.json_types import JsonObject

U64_MAX = 2**64 - 1
LOWER_CASE_HEX = frozenset("0123456789abcdef")


def key(params: Params, name: str) -> bytes:
    """32 bytes, given as 64 lower-case hex digits."""
    value = text(params, name)
    if len(value) != 64 or not LOWER_CASE_HEX.issuperset(value):
        raise InvalidParamsError(f"{name} is not 64 lower-case hex digits.")
    return bytes.fromhex(value)


def u64(params: Params, name: str) -> int:
    """A number of at most 64 bits, given as decimal text."""
    value = text(params, name)
    if not (value.isascii() and value.isdigit()) or int(value) > U64_MAX:
        raise InvalidParamsError(f"{name} is not an unsigned 64-bit number as decimal text.")
    return int(value)


def effect_message(effect: Effect) -> JsonObject:
    """What the driver writes for an effect: the answer to a push, or a notification."""
    match effect:
        case PushAnswered(push=number):
            return result(number, push_answer(effect))
        case Deliver(session=session, blob_id=blob_id):
            envelope = base64.b64encode(effect.envelope).decode("ascii")
            return notification("deliver", {"session": session, "blob_id": str(blob_id), "envelope": envelope})
        case _:
            return notification("session.closed", {"session": effect.session})


def push_answer(answer: PushAnswered) -> JsonObject:
    """An ack, or a code and nothing else (RLY-012)."""
    if answer.refusal is None:
        return {"outcome": "ack"}
    return {"outcome": "refused", "code": str(answer.refusal)}
