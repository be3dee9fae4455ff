"""How an API call of a Device fails: the error cases of the spec (ADR-0028)."""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_impl.wire.json_types import JsonObject


@dataclass(slots=True)
class ApiError(Exception):
    """One error case with its extras, for example `payloadTooLarge` with `{"max": 61440}`."""

    case: str
    extras: JsonObject = field(default_factory=dict)

    def __str__(self) -> str:
        extras = "".join(f" {name}={value}" for name, value in self.extras.items())
        return self.case + extras


def closed() -> ApiError:
    return ApiError("closed")


def not_member(status: str) -> ApiError:
    return ApiError("notMember", {"status": status})


def payload_too_large(limit: int) -> ApiError:
    """`limit` is the one in force, in bytes (SND-004)."""
    return ApiError("payloadTooLarge", {"max": limit})


def group_full(limit: int) -> ApiError:
    return ApiError("groupFull", {"max": limit})
