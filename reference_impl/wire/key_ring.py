"""The private keys that one holder has, found by their public halves."""

from __future__ import annotations

from functools import lru_cache

from reference_impl.wire.keys import SigningKey
from reference_impl.wire.noise import KeyPair

REMEMBERED = 1024
"""Making a key out of its bytes costs as much as using it."""


class UnknownKeyError(KeyError):
    """Something is to be done with a private key that is not held. Its text names the public one."""


@lru_cache(REMEMBERED)
def noise_key(private: str) -> KeyPair:
    """The X25519 key pair of a private key of 64 hex digits. Raises NoiseError or ValueError for anything else."""
    return KeyPair.from_private(bytes.fromhex(private))


@lru_cache(REMEMBERED)
def signing_key(private: str) -> SigningKey:
    """The Ed25519 key pair of a private key of 64 hex digits. Raises ValueError for anything else."""
    return SigningKey.from_private(bytes.fromhex(private))


class KeyRing:
    """Keys are named by their public halves, 64 hex digits."""

    def __init__(self) -> None:
        self._noise: dict[str, KeyPair] = {}
        self._signing: dict[str, SigningKey] = {}

    def add(self, noise_private: str, signing_private: str) -> None:
        """Hold the two keys of a device, 64 hex digits each."""
        noise, signing = noise_key(noise_private), signing_key(signing_private)
        self._noise[noise.public.hex()] = noise
        self._signing[signing.public.hex()] = signing

    def noise(self, public: str) -> KeyPair:
        """Raises UnknownKeyError."""
        if public not in self._noise:
            raise UnknownKeyError(f"the private half of the Noise key {public} is not held here")
        return self._noise[public]

    def signing(self, public: str) -> SigningKey:
        """Raises UnknownKeyError."""
        if public not in self._signing:
            raise UnknownKeyError(f"the private half of the signing key {public} is not held here")
        return self._signing[public]
