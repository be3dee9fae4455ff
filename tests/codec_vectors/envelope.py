"""CDC-005 and CDC-008: Envelopes, put together by hand: protobuf by its wire format, the rest by `cryptography`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.protobuf import field_bytes, field_number
from tests.codec_vectors.writing import CodecFile, Vector, cut, either, gives, read_back, refused

ANY = ("malformed", "unauthenticated", "bad_signature")
"""A device reports all of these alike (RCV-010)."""
LARGEST_BODY = 61_440
MAX_ENVELOPE = 65_482


def private(name: str) -> bytes:
    return sha256(f"codec vectors, {name}".encode()).digest()


def noise_pub(key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


def signing_pub(key: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


def u32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "big")


AUTHOR, OTHER_AUTHOR = private("author"), private("another author")
RECIPIENT, OTHER_RECIPIENT = private("recipient"), private("another recipient")
EPHEMERAL, OTHER_EPHEMERAL = private("ephemeral"), private("another ephemeral")


@dataclass(frozen=True, slots=True)
class Message:
    """What is sealed, and each value that is not a field of it but goes into its signature, key or layout."""

    sequence: int = 42
    timestamp: int = 1_764_547_200_000
    tag: int = 2
    body: bytes = b"hello"
    parents: tuple[bytes, ...] = ()
    version: int = 1
    author: bytes = AUTHOR
    recipient: bytes = RECIPIENT
    ephemeral: bytes = EPHEMERAL

    def unsigned(self) -> bytes:
        head = signing_pub(self.author) + u64(self.sequence) + bytes((len(self.parents),)) + b"".join(self.parents)
        return head + u64(self.timestamp) + bytes((self.tag,)) + u32(len(self.body)) + self.body

    def signature(self) -> bytes:
        bound = u32(self.version) + noise_pub(self.recipient) + noise_pub(self.ephemeral)
        return Ed25519PrivateKey.from_private_bytes(self.author).sign(
            b"trueseal-envelope-v1\0" + bound + self.unsigned()
        )

    def sealed(self, plaintext: bytes) -> bytes:
        recipient, ephemeral = noise_pub(self.recipient), noise_pub(self.ephemeral)
        secret = X25519PrivateKey.from_private_bytes(self.ephemeral).exchange(
            X25519PublicKey.from_public_bytes(recipient)
        )
        bound = u32(self.version) + ephemeral + recipient
        key = HKDF(SHA256(), 32, None, b"trueseal-addressed-encryption-v1\0" + bound).derive(secret)
        return ChaCha20Poly1305(key).encrypt(bytes(12), plaintext, bound)

    def envelope(self, plaintext: bytes | None = None) -> bytes:
        ciphertext = self.sealed(self.unsigned() + self.signature() if plaintext is None else plaintext)
        return outer(self.version, noise_pub(self.recipient), noise_pub(self.ephemeral), ciphertext)

    def params(self) -> JsonObject:
        return {
            "end_to_end_version": self.version,
            "recipient_pub": noise_pub(self.recipient).hex(),
            "ephemeral_private": self.ephemeral.hex(),
            "author_private": self.author.hex(),
            **self.fields(),
        }

    def fields(self) -> JsonObject:
        return {
            "sequence": str(self.sequence),
            "parents": [parent.hex() for parent in self.parents],
            "sender_timestamp": str(self.timestamp),
            "tag": self.tag,
            "body": self.body.hex(),
        }

    def opened(self) -> JsonObject:
        return {"end_to_end_version": self.version, "author_pub": signing_pub(self.author).hex(), **self.fields()}


def outer(version: int, recipient: bytes, ephemeral: bytes, ciphertext: bytes) -> bytes:
    return field_number(1, version) + field_bytes(2, recipient) + field_bytes(3, ephemeral) + field_bytes(4, ciphertext)


def opening(envelope: bytes) -> JsonObject:
    return {"envelope": envelope.hex(), "recipient_private": RECIPIENT.hex()}


def parents(count: int) -> tuple[bytes, ...]:
    return tuple(sha256(bytes((number,))).digest() for number in range(count))


PLAIN = Message()
MESSAGES = {
    "a-sync-message": PLAIN,
    "an-empty-body": Message(body=b""),
    "every-byte-in-the-body": Message(body=bytes(range(256))),
    "one-parent": Message(parents=parents(1)),
    "three-parents": Message(parents=parents(3)),
    "255-parents": Message(parents=parents(255)),
    "smallest-numbers": Message(sequence=0, timestamp=0),
    "largest-numbers": Message(sequence=2**64 - 1, timestamp=2**64 - 1),
    "numbers-above-53-bits": Message(sequence=2**53 + 1, timestamp=2**53 + 1),
    "tag-pair": Message(tag=1),
    "tag-revoke": Message(tag=3),
    "tag-group-manifest": Message(tag=4),
    "another-author": Message(author=OTHER_AUTHOR),
    "another-ephemeral-key": Message(ephemeral=OTHER_EPHEMERAL),
}
LARGEST = Message(body=b"\xb0" * LARGEST_BODY)


def written_large(message: Message) -> JsonObject:
    """Its fields with the body as a run of one byte."""
    return {"body": {"repeat": message.body[:1].hex(), "times": len(message.body)}}


def opened_rows() -> list[JsonObject]:
    rows = [gives(name, opening(message.envelope()), message.opened()) for name, message in MESSAGES.items()]
    envelope = PLAIN.envelope()
    more = [("unknown-number-behind", field_number(9, 7)), ("unknown-bytes-behind", field_bytes(15, b"of no meaning"))]
    rows += [gives(name, opening(envelope + extra), PLAIN.opened()) for name, extra in more]
    rows.append(gives("unknown-field-in-front", opening(field_bytes(9, b"?") + envelope), PLAIN.opened()))
    unknown = Message(tag=9)
    rows.append(
        either("unknown-tag", opening(unknown.envelope()), {"result": unknown.opened()}, {"refused": ["malformed"]})
    )
    return rows


def changed_outside() -> list[JsonObject]:
    """Every part of the Envelope as the relay sees it."""
    recipient, ephemeral = noise_pub(RECIPIENT), noise_pub(EPHEMERAL)
    sealed = PLAIN.sealed(PLAIN.unsigned() + PLAIN.signature())
    places = {"first-byte": 0, "author": 20, "body": 60, "signature": len(sealed) - 40, "tag": len(sealed) - 1}
    spoilt = {
        "version-2-claimed": outer(2, recipient, ephemeral, sealed),
        "another-recipient-claimed": outer(1, noise_pub(OTHER_RECIPIENT), ephemeral, sealed),
        "another-ephemeral-key": outer(1, recipient, noise_pub(OTHER_EPHEMERAL), sealed),
        "ciphertext-with-a-byte-more": outer(1, recipient, ephemeral, sealed + b"\0"),
        "ciphertext-without-its-last-byte": outer(1, recipient, ephemeral, sealed[:-1]),
        "empty-ciphertext": outer(1, recipient, ephemeral, b""),
        "recipient-of-31-bytes": outer(1, recipient[:31], ephemeral, sealed),
        "ephemeral-key-of-31-bytes": outer(1, recipient, ephemeral[:31], sealed),
        "ephemeral-key-of-33-bytes": outer(1, recipient, ephemeral + b"\0", sealed),
        "no-ciphertext-field": field_number(1, 1) + field_bytes(2, recipient) + field_bytes(3, ephemeral),
        "no-recipient-field": field_number(1, 1) + field_bytes(3, ephemeral) + field_bytes(4, sealed),
        "no-ephemeral-field": field_number(1, 1) + field_bytes(2, recipient) + field_bytes(4, sealed),
        "no-protobuf": b"\xff" * 40,
        "nothing": b"",
    }
    for name, place in places.items():
        flipped = bytearray(sealed)
        flipped[place] ^= 1
        spoilt[f"ciphertext-changed-in-{name}"] = outer(1, recipient, ephemeral, bytes(flipped))
    rows = [refused(name, opening(envelope), *_reasons(name)) for name, envelope in spoilt.items()]
    rows.append(cut("cut-at-every-byte", opening(PLAIN.envelope()), "envelope", *ANY, "unsupported_version"))
    for_another = replace(PLAIN, recipient=OTHER_RECIPIENT).envelope()
    return [*rows, refused("sealed-for-another-recipient", opening(for_another), *ANY)]


def _reasons(name: str) -> tuple[str, ...]:
    return (*ANY, "unsupported_version") if name in ("version-2-claimed", "nothing", "no-protobuf") else ANY


def changed_inside() -> list[JsonObject]:
    """Every field of the sealed plaintext, changed by somebody who can seal but cannot sign for the author."""
    signature = PLAIN.signature()
    others = {
        "author": Message(author=OTHER_AUTHOR),
        "sequence": Message(sequence=43),
        "sender-timestamp": Message(timestamp=PLAIN.timestamp + 1),
        "tag": Message(tag=3),
        "body": Message(body=b"hullo"),
        "body-cut": Message(body=b"hell"),
        "parents": Message(parents=parents(1)),
    }
    rows = [
        refused(f"signed-before-the-{name}-changed", opening(PLAIN.envelope(other.unsigned() + signature)), *ANY)
        for name, other in others.items()
    ]
    bound = {
        "another-recipient": Message(recipient=OTHER_RECIPIENT),
        "another-ephemeral-key": Message(ephemeral=OTHER_EPHEMERAL),
        "another-version": Message(version=2),
    }
    rows += [
        refused(f"signed-for-{name}", opening(PLAIN.envelope(PLAIN.unsigned() + other.signature())), *ANY)
        for name, other in bound.items()
    ]
    flipped = bytearray(signature)
    flipped[5] ^= 1
    wrong = {"signature-changed": bytes(flipped), "signature-of-zeros": bytes(64), "no-signature": b""}
    rows += [refused(name, opening(PLAIN.envelope(PLAIN.unsigned() + each)), *ANY) for name, each in wrong.items()]
    without_domain = Ed25519PrivateKey.from_private_bytes(AUTHOR).sign(
        u32(1) + noise_pub(RECIPIENT) + noise_pub(EPHEMERAL) + PLAIN.unsigned()
    )
    rows.append(refused("signed-without-the-domain", opening(PLAIN.envelope(PLAIN.unsigned() + without_domain)), *ANY))
    return rows


def lengths_inside() -> list[JsonObject]:
    """Counts and lengths in the sealed plaintext that do not agree with it, each signed by its author all the same."""

    def signed(plaintext: bytes) -> JsonObject:
        bound = u32(1) + noise_pub(RECIPIENT) + noise_pub(EPHEMERAL)
        signature = Ed25519PrivateKey.from_private_bytes(AUTHOR).sign(b"trueseal-envelope-v1\0" + bound + plaintext)
        return opening(PLAIN.envelope(plaintext + signature))

    whole = PLAIN.unsigned()
    length = len(whole) - len(PLAIN.body) - 4
    lying = {
        "body-length-one-too-small": whole[:length] + u32(4) + PLAIN.body,
        "body-length-one-too-large": whole[:length] + u32(6) + PLAIN.body,
        "body-length-of-32-bits": whole[:length] + u32(2**32 - 1) + PLAIN.body,
        "parent-count-without-parents": whole[:40] + b"\x01" + whole[41:],
        "parent-count-of-255": whole[:40] + b"\xff" + whole[41:],
        "a-byte-behind-the-body": whole + b"\0",
        "nothing-sealed": b"",
    }
    rows = [refused(name, signed(plaintext), *ANY) for name, plaintext in lying.items()]
    rows += [
        refused(f"plaintext-cut-to-{size}-bytes", opening(PLAIN.envelope((whole + PLAIN.signature())[:size])), *ANY)
        for size in (0, 1, 31, 32, 39, 40, 41, 48, 49, 50, 53, 54, 58, 59, 63, 64, 121, 122)
    ]
    return rows


def codec_file() -> CodecFile:
    largest = {**LARGEST.opened(), **written_large(LARGEST)}
    vectors = [
        Vector("ENV-001", "An Envelope is opened", "CDC-005", "open", opened_rows()),
        Vector("ENV-002", "An Envelope that was changed is refused", "CDC-005", "open", changed_outside()),
        Vector("ENV-003", "A message that its author did not sign so is refused", "CDC-005", "open", changed_inside()),
        Vector("ENV-004", "Lengths that do not agree are refused", "CDC-005", "open", lengths_inside()),
        Vector("ENV-005", "An Envelope is sealed", "CDC-005", "seal", [
            read_back(name, message.params(), "codec.open", {"recipient_private": RECIPIENT.hex()}, message.opened())
            for name, message in MESSAGES.items()
        ]),
        Vector("ENV-006", "The largest body is opened", "CDC-008", "open", [
            gives(f"body-of-{LARGEST_BODY}-bytes", opening(LARGEST.envelope()), largest),
        ]),
        Vector("ENV-007", "The largest body is sealed into one frame", "CDC-008", "seal", [
            read_back(
                f"body-of-{LARGEST_BODY}-bytes", {**LARGEST.params(), **written_large(LARGEST)}, "codec.open",
                {"recipient_private": RECIPIENT.hex()}, largest, at_most=MAX_ENVELOPE,
            ),
        ]),
    ]  # fmt: skip
    return CodecFile("envelope.json", "Envelopes: sealed for one recipient, signed by one author", vectors)
