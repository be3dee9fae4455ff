"""Envelopes without cryptography: JSON that keeps the structure and the bindings of the sealed ones.

A state machine is tested with these before its cryptography is there. Layout: `adapters/PROTOCOL.md`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache

from reference_impl.wire import pairing_token
from reference_impl.wire.content import (
    Content,
    MalformedError,
    Manifest,
    Member,
    Pair,
    PairingToken,
    Sealed,
)
from reference_impl.wire.json_types import Json, JsonObject

SEALED_FIELDS = frozenset(
    ("bound", "author_pub", "sequence", "parents", "sender_timestamp", "tag", "body", "signature")
)
U64_MAX = 2**64 - 1
KEY = re.compile(r"[0-9a-f]{64}")
U64_DIGITS = 20


class PlainCodec:
    """The `plain` codec. Stateless; see `Codec` for what each call promises."""

    def hold(self, noise_private: str, signing_private: str) -> None:
        """Nothing here is done with a private key."""

    def version_of(self, envelope: Json) -> int:
        return _integer(_object(envelope, "the envelope"), "end_to_end_version")

    def seal(self, content: Content, version: int, recipient_pub: str, ephemeral: str) -> Json:
        """The ephemeral key is the very bytes that it is made of."""
        outer = _outer(version, recipient_pub, ephemeral)
        return {**outer, "sealed": self.sealed(content, version, recipient_pub, ephemeral)}

    def sealed(self, content: Content, version: int, recipient_pub: str, ephemeral_pub: str) -> JsonObject:
        """The part that stands for the ciphertext, bound and signed over the three outer fields."""
        return {
            "bound": _outer(version, recipient_pub, ephemeral_pub),
            "author_pub": content.author_pub,
            "sequence": str(content.sequence),
            "parents": list(content.parents),
            "sender_timestamp": content.sender_timestamp,
            "tag": content.tag,
            "body": base64.b64encode(content.body).decode("ascii"),
            "signature": _signature(content.author_pub, version, recipient_pub, ephemeral_pub),
        }

    def decrypt(self, envelope: Json, own_noise_pub: str) -> Sealed:
        outer = _object(envelope, "the envelope")
        version = _integer(outer, "end_to_end_version")
        recipient, ephemeral = _key(outer, "recipient_pub"), _key(outer, "ephemeral_pub")
        if recipient != own_noise_pub:
            raise MalformedError("the envelope is sealed for another device")
        sealed = _object(outer.get("sealed"), "sealed")
        if frozenset(sealed) != SEALED_FIELDS:
            raise MalformedError("sealed does not have exactly the fields of a message")
        if sealed["bound"] != _outer(version, recipient, ephemeral):
            raise MalformedError("sealed is bound to another version, recipient or ephemeral key")
        content = Content(
            author_pub=_key(sealed, "author_pub"),
            sequence=_u64(sealed, "sequence"),
            sender_timestamp=_integer(sealed, "sender_timestamp"),
            tag=_integer(sealed, "tag"),
            body=_bytes(sealed, "body"),
            parents=_hashes(sealed),
        )
        expected = _signature(content.author_pub, version, recipient, ephemeral)
        return Sealed(content=content, signature_valid=sealed["signature"] == expected)

    def encode_manifest(self, manifest: Manifest, version: int) -> bytes:
        return _dump(
            {
                "group_id": manifest.group_id,
                "version": str(manifest.version),
                "parent": manifest.parent,
                "members": [
                    {"noise_pub": member.noise_pub, "signing_pub": member.signing_pub, "name": member.name}
                    for member in manifest.members
                ],
                "issued_by": manifest.issued_by,
                "signature": _manifest_signature(manifest.issued_by, version),
            }
        )

    def decode_manifest(self, body: bytes, version: int) -> Manifest:
        return _manifest(body, version)

    def encode_pair(self, noise_pub: str, signing_pub: str, secret: str) -> bytes:
        proof = _proof(secret, noise_pub, signing_pub)
        return _dump({"noise_pub": noise_pub, "signing_pub": signing_pub, "proof": proof})

    def decode_pair(self, body: bytes) -> Pair:
        fields = _load(body, "a Pair")
        return Pair(_key(fields, "noise_pub"), _key(fields, "signing_pub"), _text(fields, "proof"))

    def proves(self, pair: Pair, secret: str) -> bool:
        return pair.proof == _proof(secret, pair.noise_pub, pair.signing_pub)

    def encode_token(self, token: PairingToken) -> str:
        return pairing_token.encode(token)

    def decode_token(self, text: str) -> PairingToken:
        return pairing_token.decode(text)


@lru_cache(maxsize=256)
def _manifest(body: bytes, version: int) -> Manifest:
    """Read once: the same few manifests are read at every start and for every blob that carries one."""
    fields = _load(body, "a Group Manifest")
    members = fields.get("members")
    if not isinstance(members, list):
        raise MalformedError("members is not a list")
    issued_by = _key(fields, "issued_by")
    return Manifest(
        group_id=_text(fields, "group_id"),
        version=_u64(fields, "version"),
        parent=_text(fields, "parent"),
        members=tuple(_member(entry) for entry in members),
        issued_by=issued_by,
        hash=hashlib.sha256(body).hexdigest(),
        signature_valid=fields.get("signature") == _manifest_signature(issued_by, version),
    )


def _outer(version: int, recipient_pub: str, ephemeral_pub: str) -> JsonObject:
    return {"end_to_end_version": version, "recipient_pub": recipient_pub, "ephemeral_pub": ephemeral_pub}


def _signature(author_pub: str, version: int, recipient_pub: str, ephemeral_pub: str) -> str:
    return f"plain:{author_pub}:{version}:{recipient_pub}:{ephemeral_pub}"


def _manifest_signature(issued_by: str, version: int) -> str:
    return f"plain:{issued_by}:{version}"


def _proof(secret: str, noise_pub: str, signing_pub: str) -> str:
    return f"plain:{secret}:{noise_pub}:{signing_pub}"


def _dump(fields: JsonObject) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _load(body: bytes, what: str) -> Mapping[str, Json]:
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"{what} is not JSON: {error}") from None
    return _object(value, what)


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise MalformedError(f"{what} is not an object")
    return value


def _integer(fields: Mapping[str, Json], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedError(f"{name} is not a whole number of 0 or more")
    return value


def _text(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedError(f"{name} is not text")
    return value


def _u64(fields: Mapping[str, Json], name: str) -> int:
    text = _text(fields, name)
    if not (text.isascii() and text.isdigit()) or len(text) > U64_DIGITS or int(text) > U64_MAX:
        raise MalformedError(f"{name} is not an unsigned 64-bit number as decimal text")
    return int(text)


def _key(fields: Mapping[str, Json], name: str) -> str:
    text = _text(fields, name)
    if KEY.fullmatch(text) is None:
        raise MalformedError(f"{name} is not 32 bytes as lower-case hex")
    return text


def _bytes(fields: Mapping[str, Json], name: str) -> bytes:
    try:
        return base64.b64decode(_text(fields, name), validate=True)
    except ValueError:  # binascii.Error is one, and so is what text beyond ASCII raises
        raise MalformedError(f"{name} is not base64") from None


def _hashes(fields: Mapping[str, Json]) -> tuple[str, ...]:
    value = fields.get("parents")
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise MalformedError("parents is not a list of hashes")
    return tuple(str(entry) for entry in value)


def _member(entry: Json) -> Member:
    fields = _object(entry, "a member")
    return Member(_key(fields, "noise_pub"), _key(fields, "signing_pub"), _text(fields, "name"))
