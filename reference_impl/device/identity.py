"""Fresh identities, and the names that go with keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from reference_impl.wire.content import Member

KEY_BYTES = 32
NAME_BYTES = 4


def new_identity(random_bytes: Callable[[int], bytes]) -> Member:
    """Two new keys. Under `plain` envelopes any 32 bytes are a key."""
    noise_pub, signing_pub = random_bytes(KEY_BYTES).hex(), random_bytes(KEY_BYTES).hex()
    return Member(noise_pub, signing_pub, name_of(signing_pub))


def name_of(signing_pub: str) -> str:
    """A label for people, the same on every device. A Pair brings keys only; a label proves nothing."""
    return "device-" + hashlib.sha256(bytes.fromhex(signing_pub)).hexdigest()[: 2 * NAME_BYTES]
