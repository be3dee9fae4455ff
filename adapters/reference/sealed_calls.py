"""The `codec.*` methods about sealed and signed bytes: Envelopes, Group Manifests and Pairs."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.reference.codec_params import Call, RefusedError, entries, hex_bytes, u64
from adapters.reference.jsonrpc import Params, integer, text
from reference_impl.wire import envelope, manifest, pair
from reference_impl.wire.content import Content, MalformedError, Manifest, Member, Pair, Sealed
from reference_impl.wire.envelope import Envelope
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.keys import SigningKey
from reference_impl.wire.noise import KeyPair


class SealedCalls:
    """One method a call, without any state. A deviation overrides what it does otherwise."""

    def sealed_calls(self) -> Mapping[str, Call]:
        return {
            "codec.seal": self._seal,
            "codec.open": self._open,
            "codec.encode_manifest": self._encode_manifest,
            "codec.decode_manifest": self._decode_manifest,
            "codec.encode_pair": self._encode_pair,
            "codec.decode_pair": self._decode_pair,
        }

    # -- what a deviation may do otherwise

    def seal(
        self, content: Content, version: int, recipient_pub: bytes, ephemeral: KeyPair, author: SigningKey
    ) -> bytes:
        return envelope.seal(content, version, recipient_pub, ephemeral, author)

    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        return envelope.open_sealed(found, recipient)

    def encode_manifest(self, written: Manifest, version: int, issuer: SigningKey) -> bytes:
        return manifest.encode(written, version, issuer)

    def decode_manifest(self, data: bytes, version: int) -> Manifest:
        return manifest.decode(data, version)

    def encode_pair(self, noise_pub: bytes, signing_pub: bytes, secret: bytes) -> bytes:
        return pair.encode(noise_pub, signing_pub, secret)

    def decode_pair(self, data: bytes) -> Pair:
        return pair.decode(data)

    def proves(self, found: Pair, secret: bytes) -> bool:
        return pair.proves(found, secret)

    # -- the methods

    def _seal(self, params: Params) -> JsonObject:
        author = SigningKey.from_private(hex_bytes(params, "author_private"))
        content = Content(
            author_pub=author.public.hex(),
            sequence=u64(params, "sequence"),
            sender_timestamp=u64(params, "sender_timestamp"),
            tag=integer(params, "tag"),
            body=hex_bytes(params, "body"),
            parents=_texts(params, "parents"),
        )
        version, recipient = integer(params, "end_to_end_version"), hex_bytes(params, "recipient_pub")
        ephemeral = KeyPair.from_private(hex_bytes(params, "ephemeral_private"))
        return {"envelope": self.seal(content, version, recipient, ephemeral, author).hex()}

    def _open(self, params: Params) -> JsonObject:
        recipient = KeyPair.from_private(hex_bytes(params, "recipient_private"))
        try:
            outer = envelope.decode(hex_bytes(params, "envelope"))
            sealed = self.open_sealed(outer, recipient)
        except MalformedError:
            raise RefusedError("malformed") from None
        if not sealed.signature_valid:
            raise RefusedError("bad_signature")
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

    def _encode_manifest(self, params: Params) -> JsonObject:
        issuer = SigningKey.from_private(hex_bytes(params, "issuer_private"))
        written = Manifest(
            group_id=text(params, "group_id"),
            version=u64(params, "version"),
            parent=text(params, "parent"),
            members=tuple(
                Member(text(each, "noise_pub"), text(each, "signing_pub"), text(each, "name"))
                for each in entries(params, "members")
            ),
            issued_by=issuer.public.hex(),
            hash="",
            signature_valid=True,
        )
        return {"manifest": self.encode_manifest(written, integer(params, "end_to_end_version"), issuer).hex()}

    def _decode_manifest(self, params: Params) -> JsonObject:
        try:
            found = self.decode_manifest(hex_bytes(params, "manifest"), integer(params, "end_to_end_version"))
        except MalformedError:
            raise RefusedError("malformed") from None
        if not found.signature_valid:
            raise RefusedError("bad_signature")
        members: list[Json] = [
            {"noise_pub": each.noise_pub, "signing_pub": each.signing_pub, "name": each.name} for each in found.members
        ]
        return {
            "group_id": found.group_id,
            "version": str(found.version),
            "parent": found.parent,
            "members": members,
            "issued_by": found.issued_by,
            "hash": found.hash,
        }

    def _encode_pair(self, params: Params) -> JsonObject:
        keys = hex_bytes(params, "noise_pub"), hex_bytes(params, "signing_pub")
        return {"data": self.encode_pair(*keys, hex_bytes(params, "secret")).hex()}

    def _decode_pair(self, params: Params) -> JsonObject:
        try:
            found = self.decode_pair(hex_bytes(params, "data"))
        except MalformedError:
            raise RefusedError("malformed") from None
        if not self.proves(found, hex_bytes(params, "secret")):
            raise RefusedError("unauthenticated")
        return {"noise_pub": found.noise_pub, "signing_pub": found.signing_pub}


def _texts(params: Params, name: str) -> tuple[str, ...]:
    value = params.get(name)
    return tuple(str(each) for each in value) if isinstance(value, list) else ()
