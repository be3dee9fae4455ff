"""Group Manifests in bytes: protobuf, signed by their issuer (wire profile draft-1, CDC-006)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from google.protobuf.message import DecodeError

from reference_impl.wire.content import MalformedError, Manifest, Member
from reference_impl.wire.keys import KEY_BYTES, SigningKey, verifies
from reference_impl.wire.manifest_pb2 import GroupManifest
from reference_impl.wire.manifest_pb2 import Member as MemberFields

DOMAIN = b"trueseal-manifest-v1\0"
HASH_BYTES = 32
MAX_VERSION = 2**64 - 1


def encode(manifest: Manifest, end_to_end_version: int, issuer: SigningKey) -> bytes:
    """Write and sign. `hash` and `signature_valid` are not used; `issued_by` must be the issuer's.

    Raises ValueError for a field that does not fit its place.
    """
    if manifest.issued_by != issuer.public.hex():
        raise ValueError("A manifest is signed by the issuer that it names.")
    if not 0 <= manifest.version <= MAX_VERSION:
        raise ValueError(f"A manifest's version is an unsigned 64-bit number, not {manifest.version}.")
    fields = GroupManifest(
        group_id=bytes.fromhex(manifest.group_id),
        version=manifest.version,
        parent=bytes.fromhex(manifest.parent),
        members=[
            MemberFields(
                noise_pub=bytes.fromhex(each.noise_pub), signing_pub=bytes.fromhex(each.signing_pub), name=each.name
            )
            for each in manifest.members
        ],
        issued_by=issuer.public,
    )
    fields.signature = issuer.sign(_signed(fields, end_to_end_version))
    return fields.SerializeToString()


def decode(body: bytes, end_to_end_version: int) -> Manifest:
    """Read a manifest and tell whether its signature holds. Raises MalformedError if it cannot be read."""
    try:
        fields = GroupManifest.FromString(body)
    except DecodeError:
        raise MalformedError("the Group Manifest is not the protobuf message that it must be") from None
    _check_lengths([fields.issued_by], KEY_BYTES, "the issuer's key")
    _check_lengths([fields.parent] if fields.parent else [], HASH_BYTES, "the parent")
    _check_lengths(
        (key for each in fields.members for key in (each.noise_pub, each.signing_pub)), KEY_BYTES, "a member's key"
    )
    signature = fields.signature
    return Manifest(
        group_id=fields.group_id.hex(),
        version=fields.version,
        parent=fields.parent.hex(),
        members=tuple(Member(each.noise_pub.hex(), each.signing_pub.hex(), each.name) for each in fields.members),
        issued_by=fields.issued_by.hex(),
        hash=hashlib.sha256(body).hexdigest(),
        signature_valid=verifies(fields.issued_by, signature, _signed(fields, end_to_end_version)),
    )


def _signed(fields: GroupManifest, end_to_end_version: int) -> bytes:
    """What the signature is over; the fields are left without it."""
    fields.ClearField("signature")
    return DOMAIN + end_to_end_version.to_bytes(4, "big") + fields.SerializeToString(deterministic=True)


def _check_lengths(values: Iterable[bytes], size: int, what: str) -> None:
    for value in values:
        if len(value) != size:
            raise MalformedError(f"{what} has {len(value)} bytes, not {size}")
