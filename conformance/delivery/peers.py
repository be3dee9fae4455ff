"""The devices that the kit plays around the system under test, and their keys."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from reference_impl.wire.content import Member
from reference_impl.wire.key_ring import noise_key, signing_key


@dataclass(slots=True)
class Peer:
    """One device. Keys are hex; `sequence` is that of its last message.

    The private keys are those from the start: of a device under test that was wiped the kit knows the public ones only.
    """

    name: str
    noise_pub: str
    signing_pub: str
    noise_private: str = field(repr=False)
    signing_private: str = field(repr=False)
    sequence: int = 0

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    @property
    def member(self) -> Member:
        return Member(self.noise_pub, self.signing_pub, self.name)


def key(purpose: str) -> str:
    """32 bytes that depend on nothing but their purpose, so that every run sends the same ones."""
    return hashlib.sha256(f"conformance kit: {purpose}".encode()).hexdigest()


def peer(name: str) -> Peer:
    noise_private, signing_private = key(f"noise key of {name}"), key(f"signing key of {name}")
    noise_pub, signing_pub = noise_key(noise_private).public.hex(), signing_key(signing_private).public.hex()
    return Peer(name, noise_pub, signing_pub, noise_private, signing_private)
