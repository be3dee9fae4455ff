# ruff: noqa: ARG002, E501 - a codec that deviates need not use all it is given, and a row of a table is one line
"""Codecs that seal, sign or open otherwise than the wire profile says (CDC-005, CDC-006, CDC-008)."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from adapters.deviation import Mutant
from adapters.reference.codec_calls import CodecCalls
from reference_impl.wire import envelope, manifest, pair, sealed_plaintext
from reference_impl.wire.content import Content, MalformedError, Manifest, Pair, Sealed
from reference_impl.wire.envelope import Envelope
from reference_impl.wire.keys import SIGNATURE_BYTES, SigningKey
from reference_impl.wire.noise import KeyPair

# -- Envelopes


class OpensVersionOneOnly(CodecCalls):
    """Takes every version for 1, so that one that was changed on the way opens."""

    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        return super().open_sealed(replace(found, end_to_end_version=1), recipient)


class LooksAtNoRecipient(CodecCalls):
    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        return super().open_sealed(replace(found, recipient_pub=recipient.public), recipient)


class ChecksNoSignature(CodecCalls):
    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        return replace(super().open_sealed(found, recipient), signature_valid=True)


class LooksAtNoBodyLength(CodecCalls):
    """Takes whatever stands before the signature for the body."""

    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        plaintext = envelope.open_plaintext(found, recipient)
        at = 41 + 32 * plaintext[40] + 9 if len(plaintext) > 40 else 0
        body = len(plaintext) - SIGNATURE_BYTES - at - 4
        if body < 0:
            raise MalformedError("the plaintext is too short")
        content, _, _ = sealed_plaintext.decode(plaintext[:at] + body.to_bytes(4, "big") + plaintext[at + 4 :])
        return Sealed(content, signature_valid=True)


class ReadsTimesInSeconds(CodecCalls):
    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        sealed = super().open_sealed(found, recipient)
        return replace(
            sealed, content=replace(sealed.content, sender_timestamp=sealed.content.sender_timestamp // 1000)
        )


class RefusesTheLargestBody(CodecCalls):
    def open_sealed(self, found: Envelope, recipient: KeyPair) -> Sealed:
        sealed = super().open_sealed(found, recipient)
        if len(sealed.content.body) >= 61_440:
            raise MalformedError("the body is too large")
        return sealed


class SignsWhatIsSealedAlone(CodecCalls):
    """The signature binds neither version nor keys."""

    def seal(self, content: Content, version: int, recipient: bytes, ephemeral: KeyPair, author: SigningKey) -> bytes:
        unsigned = sealed_plaintext.encode(content)
        return envelope.seal_plaintext(unsigned + author.sign(unsigned), version, recipient, ephemeral)


class CutsBodiesAt4KiB(CodecCalls):
    def seal(self, content: Content, version: int, recipient: bytes, ephemeral: KeyPair, author: SigningKey) -> bytes:
        return super().seal(replace(content, body=content.body[:4_096]), version, recipient, ephemeral, author)


class WrapsEnvelopesInHex(CodecCalls):
    """An unknown field repeats the ciphertext, which doubles the size and is legal below the limit."""

    def seal(self, content: Content, version: int, recipient: bytes, ephemeral: KeyPair, author: SigningKey) -> bytes:
        data = super().seal(content, version, recipient, ephemeral, author)
        size = len(data)
        return data + b"\x7a" + bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14)) + data


# -- Group Manifests and Pairs


class HashesWithoutTheSignature(CodecCalls):
    def decode_manifest(self, data: bytes, version: int) -> Manifest:
        return replace(super().decode_manifest(data, version), hash=sha256(data[:-66]).hexdigest())


class TakesAnyManifest(CodecCalls):
    def decode_manifest(self, data: bytes, version: int) -> Manifest:
        return replace(super().decode_manifest(data, version), signature_valid=True)


class SignsManifestsUnderNoVersion(CodecCalls):
    def encode_manifest(self, written: Manifest, version: int, issuer: SigningKey) -> bytes:
        return manifest.encode(written, version - 1, issuer)


class ProvesWithoutDomain(CodecCalls):
    def encode_pair(self, noise_pub: bytes, signing_pub: bytes, secret: bytes) -> bytes:
        whole = pair.encode(noise_pub, signing_pub, secret)
        return whole[:64] + sha256(secret + whole[:64]).digest()


class ExchangesTheKeysOfAPair(CodecCalls):
    def decode_pair(self, data: bytes) -> Pair:
        found = super().decode_pair(data)
        return Pair(found.signing_pub, found.noise_pub, found.proof)

    def proves(self, found: Pair, secret: bytes) -> bool:
        return super().proves(Pair(found.signing_pub, found.noise_pub, found.proof), secret)


class TakesAnyProof(CodecCalls):
    def proves(self, found: Pair, secret: bytes) -> bool:
        return True


MUTANTS: tuple[Mutant, ...] = (
    Mutant("codec-any-version", "CDC-005", "opens an Envelope whose version was changed", OpensVersionOneOnly),
    Mutant("codec-any-recipient", "CDC-005", "opens an Envelope that names another recipient", LooksAtNoRecipient),
    Mutant("codec-no-signature", "CDC-005", "checks no author's signature", ChecksNoSignature),
    Mutant("codec-no-body-length", "CDC-005", "looks at no body length", LooksAtNoBodyLength),
    Mutant("codec-times-in-seconds", "CDC-005", "reads the Sender Timestamp in seconds", ReadsTimesInSeconds),
    Mutant("codec-signs-too-little", "CDC-005", "signs neither version nor keys", SignsWhatIsSealedAlone),
    Mutant("codec-small-bodies", "CDC-008", "refuses the largest body", RefusesTheLargestBody),
    Mutant("codec-cuts-bodies", "CDC-008", "cuts bodies at 4 KiB", CutsBodiesAt4KiB),
    Mutant("codec-doubles-envelopes", "CDC-008", "writes Envelopes of twice the size", WrapsEnvelopesInHex),
    Mutant("codec-manifest-hash", "CDC-006", "hashes a manifest without its signature", HashesWithoutTheSignature),
    Mutant("codec-any-manifest", "CDC-006", "takes a manifest with any signature", TakesAnyManifest),
    Mutant("codec-manifest-version", "CDC-006", "signs manifests under another End-to-End Version", SignsManifestsUnderNoVersion),
    Mutant("codec-pair-domain", "CDC-006", "proves a Pair without the domain", ProvesWithoutDomain),
    Mutant("codec-pair-keys", "CDC-006", "exchanges the keys of a Pair", ExchangesTheKeysOfAPair),
    Mutant("codec-any-proof", "CDC-006", "takes any proof of a Pair", TakesAnyProof),
)  # fmt: skip
