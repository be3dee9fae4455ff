"""The Noise key pairs of the devices that the kit plays.

The driver protocol names a device by its public key, and no private key ever stands in a message. A link that shakes
hands in a device's name finds the other half here.
"""

from __future__ import annotations

import hashlib

from conformance.outcome import DriverError
from reference_impl.wire.noise import KeyPair

_pairs: dict[bytes, KeyPair] = {}


def add(pair: KeyPair) -> None:
    _pairs[pair.public] = pair


def pair_of(public: bytes) -> KeyPair:
    """Raises DriverError for a device that is none of the kit's."""
    pair = _pairs.get(public)
    if pair is None:
        raise DriverError("the kit has no key pair for the device that is to open a Receive Session; please report it")
    return pair


STRANGER = KeyPair.from_private(hashlib.sha256(b"conformance kit: noise key of a stranger").digest())
"""A device that no vector knows: who tries out whether the relay can be reached."""
add(STRANGER)
