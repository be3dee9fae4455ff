"""Envelopes: a message signed by its author and sealed for one recipient (wire profile draft-1, CDC-005)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from google.protobuf.message import DecodeError

from reference_impl.wire import sealed_plaintext
from reference_impl.wire.content import Content, MalformedError, Sealed
from reference_impl.wire.envelope_pb2 import Envelope as EnvelopeFields
from reference_impl.wire.errors import NoiseError
from reference_impl.wire.keys import KEY_BYTES, SigningKey, verifies
from reference_impl.wire.noise import KeyPair

SIGNATURE_DOMAIN = b"trueseal-envelope-v1\0"
KEY_DOMAIN = b"trueseal-addressed-encryption-v1\0"
NONCE = bytes(12)
"""Always the same: the key is used once."""

_VERSION = Struct(">I")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a relay stores: all that anybody but the recipient can read."""

    end_to_end_version: int
    recipient_pub: bytes
    ephemeral_pub: bytes
    ciphertext: bytes


def encode(envelope: Envelope) -> bytes:
    """The protobuf serialisation."""
    return EnvelopeFields(
        end_to_end_version=envelope.end_to_end_version,
        recipient_pub=envelope.recipient_pub,
        ephemeral_pub=envelope.ephemeral_pub,
        ciphertext=envelope.ciphertext,
    ).SerializeToString()


def decode(data: bytes) -> Envelope:
    """Read the four fields and pass over any other. Raises MalformedError.

    Lengths are not looked at here: the version comes before everything else (VER-002).
    """
    try:
        found = EnvelopeFields.FromString(data)
    except DecodeError:
        raise MalformedError("the Envelope is not the protobuf message that it must be") from None
    return Envelope(found.end_to_end_version, found.recipient_pub, found.ephemeral_pub, found.ciphertext)


def seal(content: Content, version: int, recipient_pub: bytes, ephemeral: KeyPair, author: SigningKey) -> bytes:
    """Sign and seal for one recipient. `ephemeral` must be fresh for each seal (MTA-002).

    Raises ValueError for a field that does not fit, or an author key that is not the one of `content`.
    """
    if content.author_pub != author.public.hex():
        raise ValueError("A message is signed by the author that it names.")
    unsigned = sealed_plaintext.encode(content)
    signature = author.sign(_signed(unsigned, version, recipient_pub, ephemeral.public))
    return seal_plaintext(unsigned + signature, version, recipient_pub, ephemeral)


def seal_plaintext(plaintext: bytes, version: int, recipient_pub: bytes, ephemeral: KeyPair) -> bytes:
    """Seal these bytes whatever they are: for those who test what a recipient makes of them."""
    bound = _bound(version, ephemeral.public, recipient_pub)
    ciphertext = _cipher(ephemeral.shared(recipient_pub), bound).encrypt(NONCE, plaintext, bound)
    return encode(Envelope(version, recipient_pub, ephemeral.public, ciphertext))


def open_sealed(envelope: Envelope, recipient: KeyPair) -> Sealed:
    """Open what is sealed for this device; whether the author signed it is told, not judged. Raises MalformedError."""
    content, unsigned, signature = sealed_plaintext.decode(open_plaintext(envelope, recipient))
    text = _signed(unsigned, envelope.end_to_end_version, recipient.public, envelope.ephemeral_pub)
    return Sealed(content, verifies(bytes.fromhex(content.author_pub), signature, text))


def open_plaintext(envelope: Envelope, recipient: KeyPair) -> bytes:
    """The sealed plaintext, whatever it is. Raises MalformedError."""
    if envelope.recipient_pub != recipient.public:
        raise MalformedError("the Envelope is sealed for another device")
    if len(envelope.ephemeral_pub) != KEY_BYTES:
        raise MalformedError(f"the ephemeral key has {len(envelope.ephemeral_pub)} bytes")
    version, ephemeral = envelope.end_to_end_version, envelope.ephemeral_pub
    bound = _bound(version, ephemeral, recipient.public)
    try:
        return _cipher(recipient.shared(ephemeral), bound).decrypt(NONCE, envelope.ciphertext, bound)
    except NoiseError:
        raise MalformedError("the ephemeral key is one with which no secret can be shared") from None
    except InvalidTag:
        raise MalformedError("the Envelope does not authenticate") from None


def _signed(unsigned: bytes, version: int, recipient_pub: bytes, ephemeral_pub: bytes) -> bytes:
    return SIGNATURE_DOMAIN + _VERSION.pack(version) + recipient_pub + ephemeral_pub + unsigned


def _bound(version: int, ephemeral_pub: bytes, recipient_pub: bytes) -> bytes:
    return _VERSION.pack(version) + ephemeral_pub + recipient_pub


def _cipher(secret: bytes, bound: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=KEY_DOMAIN + bound).derive(secret))
