"""The devices that the kit plays around the device under test, and the Envelopes they seal, honest or not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from reference_impl.wire.content import Content, Member
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.plain import PlainCodec

CODEC = PlainCodec()
UNREADABLE = "bm90IGEgbWVzc2FnZQ=="
"""What stands in `sealed` where nothing opens."""


@dataclass(slots=True)
class Peer:
    """One device. `sequence` is that of its last message."""

    name: str
    noise_pub: str
    signing_pub: str
    sequence: int = 0

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    @property
    def member(self) -> Member:
        return Member(self.noise_pub, self.signing_pub, self.name)


def key(purpose: str) -> str:
    """A key that depends on nothing but its purpose, so that every run sends the same bytes."""
    return hashlib.sha256(f"conformance kit: {purpose}".encode()).hexdigest()


def peer(name: str) -> Peer:
    return Peer(name, key(f"noise key of {name}"), key(f"signing key of {name}"))


@dataclass(frozen=True, slots=True)
class Sealing:
    """How one Envelope is sealed: for whom, under which version, with which ephemeral key."""

    content: Content
    version: int
    recipient_pub: str
    ephemeral_pub: str

    def seal(self) -> JsonObject:
        return _envelope(CODEC.seal(self.content, self.version, self.recipient_pub, self.ephemeral_pub))

    def sealed(self) -> JsonObject:
        return CODEC.sealed(self.content, self.version, self.recipient_pub, self.ephemeral_pub)


def _undecodable(sealing: Sealing) -> JsonObject:
    return {**sealing.seal(), "sealed": UNREADABLE}


def _truncated(sealing: Sealing) -> JsonObject:
    fields = sealing.sealed()
    del fields["signature"], fields["body"]
    return {**sealing.seal(), "sealed": fields}


def _bad_signature(sealing: Sealing) -> JsonObject:
    fields = {**sealing.sealed(), "signature": "plain:" + key("nobody")}
    return {**sealing.seal(), "sealed": fields}


def _swapped_ephemeral(sealing: Sealing) -> JsonObject:
    return {**sealing.seal(), "ephemeral_pub": key("swapped ephemeral")}


def _readdressed(sealing: Sealing) -> JsonObject:
    elsewhere = replace(sealing, recipient_pub=peer("carol").noise_pub)
    return {**elsewhere.seal(), "recipient_pub": sealing.recipient_pub}


def _resealed_by_other(sealing: Sealing) -> JsonObject:
    """Whoever may open a message can seal it anew for somebody else, but not sign it for them."""
    first = replace(sealing, recipient_pub=peer("carol").noise_pub, ephemeral_pub=key("first ephemeral"))
    return {**sealing.seal(), "sealed": {**sealing.sealed(), "signature": first.sealed()["signature"]}}


def _version_relabelled(sealing: Sealing) -> JsonObject:
    other = replace(sealing, version=sealing.version + 1)
    return {**other.seal(), "end_to_end_version": sealing.version}


FAULTS: Mapping[str, Callable[[Sealing], JsonObject]] = {
    "undecodable": _undecodable,
    "truncated": _truncated,
    "bad_signature": _bad_signature,
    "swapped_ephemeral": _swapped_ephemeral,
    "readdressed": _readdressed,
    "resealed_by_other": _resealed_by_other,
    "version_relabelled": _version_relabelled,
}


def seal(sealing: Sealing, fault: str = "") -> JsonObject:
    """Seal an Envelope, with one of the `FAULTS` or without."""
    return FAULTS[fault](sealing) if fault else sealing.seal()


def _envelope(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("a plain envelope is an object")
    return value
