"""Who a device is: its keys, fresh ones, and the names that go with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from reference_impl.wire.content import Member
from reference_impl.wire.key_ring import noise_key, signing_key

KEY_BYTES = 32
NAME_BYTES = 4


@dataclass(frozen=True, slots=True)
class Identity:
    """A device as its group knows it, and the private halves of its keys (64 hex digits), which nobody else does."""

    member: Member
    noise_private: str = field(repr=False)
    signing_private: str = field(repr=False)


def new_identity(random_bytes: Callable[[int], bytes]) -> Identity:
    """Two new key pairs."""
    noise_private, signing_private = random_bytes(KEY_BYTES).hex(), random_bytes(KEY_BYTES).hex()
    signing_pub = signing_key(signing_private).public.hex()
    member = Member(noise_key(noise_private).public.hex(), signing_pub, name_of(signing_pub))
    return Identity(member, noise_private, signing_private)


def name_of(signing_pub: str) -> str:
    """A label for people, the same on every device. A Pair brings keys only; a label proves nothing."""
    return "device-" + hashlib.sha256(bytes.fromhex(signing_pub)).hexdigest()[: 2 * NAME_BYTES]
