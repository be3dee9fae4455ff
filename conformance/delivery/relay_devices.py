"""The devices around a relay under test: `dana`, `erin` and `fred`, each with a Noise key pair."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache

from conformance.drivers import key_ring
from reference_impl.wire.noise import KeyPair

NAMES = ("dana", "erin", "fred")


@cache
def devices(salt: str = "") -> Mapping[str, KeyPair]:
    """The key pair of each device. It depends on nothing but the name and the salt, so that every run sends the same.

    A salt makes them strangers to a relay that keeps what another run left. Their private halves are in the key ring.
    """
    pairs = {name: _pair(f"conformance kit: noise key of {name}{salt}") for name in NAMES}
    for pair in pairs.values():
        key_ring.add(pair)
    return pairs


def _pair(purpose: str) -> KeyPair:
    return KeyPair.from_private(hashlib.sha256(purpose.encode()).digest())
