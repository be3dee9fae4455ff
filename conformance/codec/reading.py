"""How the kit reads bytes that may be written in more than one right way: Envelopes and Group Manifests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.strict_yaml import Value
from reference_impl.wire import envelope, manifest
from reference_impl.wire.content import MalformedError
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.noise import KeyPair

Reader = Callable[[bytes, Mapping[str, Value]], JsonObject]


def opened(data: bytes, given: Mapping[str, Value]) -> JsonObject:
    """What an Envelope holds for `recipient_private`. Raises MalformedError, also for a wrong signature."""
    outer = envelope.decode(data)
    recipient = KeyPair.from_private(bytes.fromhex(str(given["recipient_private"])))
    sealed = envelope.open_sealed(outer, recipient)
    if not sealed.signature_valid:
        raise MalformedError("the author's signature")
    content = sealed.content
    return {
        "end_to_end_version": outer.end_to_end_version,
        "author_pub": content.author_pub,
        "sequence": str(content.sequence),
        "parents": list(content.parents),
        "sender_timestamp": str(content.sender_timestamp),
        "tag": content.tag,
        "body": content.body.hex(),
    }


def read_manifest(data: bytes, given: Mapping[str, Value]) -> JsonObject:
    """What a Group Manifest says under `end_to_end_version`. Raises MalformedError, also for a wrong signature."""
    found = manifest.decode(data, int(str(given["end_to_end_version"])))
    if not found.signature_valid:
        raise MalformedError("the issuer's signature")
    return {
        "group_id": found.group_id,
        "version": str(found.version),
        "parent": found.parent,
        "members": [
            {"noise_pub": each.noise_pub, "signing_pub": each.signing_pub, "name": each.name} for each in found.members
        ],
        "issued_by": found.issued_by,
        "hash": found.hash,
    }


READERS: Mapping[str, tuple[str, Reader]] = {
    "codec.open": ("envelope", opened),
    "codec.decode_manifest": ("manifest", read_manifest),
}
"""By the method that reads the same: the field of an answer that holds the bytes, and the reader."""
