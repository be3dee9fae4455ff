"""Envelopes as they are on the wire: sealed, signed bytes, base64 text where a JSON value is wanted.

Sealing and opening are pure functions of their arguments, and their latest results are remembered: whoever runs a
thousand histories of the same devices does both over and over with the same bytes.
"""

from __future__ import annotations

import base64
from functools import lru_cache

from reference_impl.wire import envelope, manifest, pair, pairing_token
from reference_impl.wire.content import Content, MalformedError, Manifest, Pair, PairingToken, Sealed
from reference_impl.wire.json_types import Json
from reference_impl.wire.key_ring import KeyRing, noise_key
from reference_impl.wire.keys import SigningKey
from reference_impl.wire.noise import KeyPair

REMEMBERED = 2048


class SealedCodec:
    """The codec of wire profile draft-1; see `Codec` for what each call promises.

    `keys` holds the private keys of whoever seals and opens here. Raises UnknownKeyError for one that it lacks.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def hold(self, noise_private: str, signing_private: str) -> None:
        self._keys.add(noise_private, signing_private)

    def version_of(self, envelope_text: Json) -> int:
        return envelope.decode(to_bytes(envelope_text)).end_to_end_version

    def seal(self, content: Content, version: int, recipient_pub: str, ephemeral: str) -> Json:
        author = self._keys.signing(content.author_pub)
        return _sealed(content, version, recipient_pub, ephemeral, author)

    def decrypt(self, envelope_text: Json, own_noise_pub: str) -> Sealed:
        return _opened(to_bytes(envelope_text), self._keys.noise(own_noise_pub))

    def encode_manifest(self, written: Manifest, version: int) -> bytes:
        return _written(written, version, self._keys.signing(written.issued_by))

    def decode_manifest(self, body: bytes, version: int) -> Manifest:
        return _read(body, version)

    def encode_pair(self, noise_pub: str, signing_pub: str, secret: str) -> bytes:
        return pair.encode(bytes.fromhex(noise_pub), bytes.fromhex(signing_pub), secret.encode("utf-8"))

    def decode_pair(self, body: bytes) -> Pair:
        return pair.decode(body)

    def proves(self, request: Pair, secret: str) -> bool:
        return pair.proves(request, secret.encode("utf-8"))

    def encode_token(self, token: PairingToken) -> str:
        return pairing_token.encode(token)

    def decode_token(self, text: str) -> PairingToken:
        return pairing_token.decode(text)


def to_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def to_bytes(text: Json) -> bytes:
    """Raises MalformedError for what is no base64 text."""
    if not isinstance(text, str):
        raise MalformedError("the Envelope is not base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise MalformedError("the Envelope is not base64 text") from None


@lru_cache(REMEMBERED)
def _sealed(content: Content, version: int, recipient_pub: str, ephemeral: str, author: SigningKey) -> str:
    return to_text(envelope.seal(content, version, bytes.fromhex(recipient_pub), noise_key(ephemeral), author))


@lru_cache(REMEMBERED)
def _opened(data: bytes, recipient: KeyPair) -> Sealed:
    return envelope.open_sealed(envelope.decode(data), recipient)


@lru_cache(REMEMBERED)
def _written(written: Manifest, version: int, issuer: SigningKey) -> bytes:
    return manifest.encode(written, version, issuer)


@lru_cache(REMEMBERED)
def _read(body: bytes, version: int) -> Manifest:
    return manifest.decode(body, version)
