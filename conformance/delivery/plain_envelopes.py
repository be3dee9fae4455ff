"""Envelopes as JSON without cryptography, for a state machine that has none yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conformance.delivery.peers import key
from conformance.delivery.sealing import Fault, Sealing
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.plain import PlainCodec

CODEC = PlainCodec()
UNREADABLE = "bm90IGEgbWVzc2FnZQ=="
"""What stands in `sealed` where nothing opens."""
NOT_SHARED = frozenset(("end_to_end_version", "recipient_pub", "sealed"))


class PlainEnvelopes:
    """Without keys, and without state."""

    codec = CODEC

    @property
    def faults(self) -> Mapping[str, Fault]:
        return FAULTS

    def shown(self, envelope: Json) -> Mapping[str, Json]:
        fields = envelope if isinstance(envelope, Mapping) else {}
        return {name: value for name, value in fields.items() if name not in NOT_SHARED}


def _seal(sealing: Sealing) -> JsonObject:
    return {**_outer(sealing), "sealed": _sealed(sealing)}


def _sealed(sealing: Sealing) -> JsonObject:
    return CODEC.sealed(sealing.content, sealing.version, sealing.recipient_pub, sealing.ephemeral)


def _outer(sealing: Sealing) -> JsonObject:
    return {
        "end_to_end_version": sealing.version,
        "recipient_pub": sealing.recipient_pub,
        "ephemeral_pub": sealing.ephemeral,
    }


def _truncated(sealing: Sealing) -> JsonObject:
    fields = _sealed(sealing)
    del fields["signature"], fields["body"]
    return {**_outer(sealing), "sealed": fields}


def _signed_by_nobody(sealing: Sealing) -> JsonObject:
    return {**_outer(sealing), "sealed": {**_sealed(sealing), "signature": "plain:" + key("nobody")}}


def _readdressed(sealing: Sealing) -> JsonObject:
    return {**_seal(sealing.for_carol()), "recipient_pub": sealing.recipient_pub}


def _resealed_by_other(sealing: Sealing) -> JsonObject:
    """Whoever may open a message can seal it anew for somebody else, but not sign it for them."""
    first = _sealed(sealing.for_carol().anew())
    return {**_outer(sealing), "sealed": {**_sealed(sealing), "signature": first["signature"]}}


def _version_relabelled(sealing: Sealing) -> JsonObject:
    other = replace(sealing, version=sealing.version + 1)
    return {**_seal(other), "end_to_end_version": sealing.version}


FAULTS: Mapping[str, Fault] = {
    "undecodable": lambda sealing: {**_outer(sealing), "sealed": UNREADABLE},
    "truncated": _truncated,
    "bad_signature": _signed_by_nobody,
    "swapped_ephemeral": lambda sealing: {**_seal(sealing), "ephemeral_pub": key("swapped ephemeral")},
    "readdressed": _readdressed,
    "resealed_by_other": _resealed_by_other,
    "version_relabelled": _version_relabelled,
}
