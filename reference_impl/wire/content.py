"""What an Envelope holds once it is open, and what can be wrong with one: the same for every codec."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from reference_impl.wire.json_types import Json
from reference_impl.wire.message_id import message_id


class Tag(IntEnum):
    """Message tags, the first thing that tells messages apart inside an Envelope."""

    PAIR = 1
    SYNC = 2
    REVOKE = 3
    GROUP_MANIFEST = 4


@dataclass(frozen=True, slots=True)
class Content:
    """One message. `author_pub` is a signing key (hex), `sender_timestamp` is in Unix ms.

    `tag` is a plain number: an unknown one must survive reading, so that the recipient can refuse it (RCV-010).
    """

    author_pub: str
    sequence: int
    sender_timestamp: int
    tag: int
    body: bytes
    parents: tuple[str, ...] = ()

    @property
    def message_id(self) -> str:
        return message_id(self.author_pub, self.sequence)


@dataclass(frozen=True, slots=True)
class Member:
    """One device of a Group Manifest. Both keys are hex."""

    noise_pub: str
    signing_pub: str
    name: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A Group Manifest. `parent` and `hash` are hex, `parent` is empty for the first one of a group.

    `hash` is that of the bytes this manifest was read from or written to; it is not one of its fields.
    """

    group_id: str
    version: int
    parent: str
    members: tuple[Member, ...]
    issued_by: str
    hash: str
    signature_valid: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """A request to join. Whether the proof holds for a secret: `Codec.proves`."""

    noise_pub: str
    signing_pub: str
    proof: str


@dataclass(frozen=True, slots=True)
class PairingToken:
    """What the admitting device shows to the joining one, outside the relay's sight."""

    noise_pub: str
    signing_pub: str
    secret: str


class MalformedError(ValueError):
    """Bytes that cannot be decoded or authenticated. The text says what did not hold."""


class Codec(Protocol):
    """Seals and opens Envelopes and what is inside them: the seam between state machines and cryptography.

    An Envelope is a JSON value here: an object under `plain`, base64 text where it is sealed bytes.
    """

    def version_of(self, envelope: Json) -> int:
        """Read the End-to-End Version, before anything is opened (VER-002). Raises MalformedError."""
        ...

    def hold(self, noise_private: str, signing_private: str) -> None:
        """Seal, sign and open from now on also with the keys of this device, 64 hex digits each."""
        ...

    def seal(self, content: Content, version: int, recipient_pub: str, ephemeral: str) -> Json:
        """Seal and sign for one recipient.

        `ephemeral` are 32 bytes as hex, fresh for each seal (MTA-002), that the ephemeral key is made of.
        """
        ...

    def decrypt(self, envelope: Json, own_noise_pub: str) -> Sealed:
        """Open an Envelope that is addressed to this device. Raises MalformedError."""
        ...

    def encode_manifest(self, manifest: Manifest, version: int) -> bytes:
        """Write and sign a manifest under an End-to-End Version. `hash` and `signature_valid` are not used."""
        ...

    def decode_manifest(self, body: bytes, version: int) -> Manifest:
        """Read a manifest and check its signature. Raises MalformedError if it cannot be read."""
        ...

    def encode_pair(self, noise_pub: str, signing_pub: str, secret: str) -> bytes: ...

    def decode_pair(self, body: bytes) -> Pair: ...

    def proves(self, pair: Pair, secret: str) -> bool:
        """Whether the proof of a Pair was made with this secret."""
        ...

    def encode_token(self, token: PairingToken) -> str: ...

    def decode_token(self, text: str) -> PairingToken: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    """A decrypted Envelope whose signature is not yet judged: the two failures are told apart (RCV-012)."""

    content: Content
    signature_valid: bool
