"""Signing keys: Ed25519, as 32-byte seeds and 32-byte public keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_BYTES = 32
SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key pair."""

    private: bytes = field(repr=False)
    public: bytes
    _loaded: Ed25519PrivateKey = field(repr=False, compare=False)

    @classmethod
    def generate(cls) -> SigningKey:
        return cls._of(Ed25519PrivateKey.generate())

    @classmethod
    def from_private(cls, private: bytes) -> SigningKey:
        """Raises ValueError unless `private` has 32 bytes."""
        return cls._of(Ed25519PrivateKey.from_private_bytes(private))

    @classmethod
    def _of(cls, key: Ed25519PrivateKey) -> SigningKey:
        return cls(key.private_bytes_raw(), key.public_key().public_bytes_raw(), key)

    def sign(self, text: bytes) -> bytes:
        """64 bytes, the same each time."""
        return self._loaded.sign(text)


def verifies(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether the owner of `public` signed that text. False also for what is no key and no signature."""
    try:
        _public_key(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(maxsize=256)
def _public_key(public: bytes) -> Ed25519PublicKey:
    """The few authors of a group sign everything."""
    return Ed25519PublicKey.from_public_bytes(public)
