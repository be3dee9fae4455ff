"""Pairs in bytes: a request to join, proven by the secret of a Pairing Token (wire profile draft-1, CDC-006)."""

from __future__ import annotations

import hmac

from reference_impl.wire.content import MalformedError, Pair
from reference_impl.wire.keys import KEY_BYTES

DOMAIN = b"trueseal-pair-v1\0"
PROOF_BYTES = 32
PAIR_BYTES = 2 * KEY_BYTES + PROOF_BYTES


def encode(noise_pub: bytes, signing_pub: bytes, secret: bytes) -> bytes:
    """`noise_pub` 32 · `signing_pub` 32 · proof 32. Raises ValueError for keys of another length."""
    if len(noise_pub) != KEY_BYTES or len(signing_pub) != KEY_BYTES:
        raise ValueError(f"The keys of a Pair have {KEY_BYTES} bytes each.")
    return noise_pub + signing_pub + proof(noise_pub, signing_pub, secret)


def decode(body: bytes) -> Pair:
    """Read a Pair; whether it is proven: `proves`. Raises MalformedError."""
    if len(body) != PAIR_BYTES:
        raise MalformedError(f"a Pair has {PAIR_BYTES} bytes, not {len(body)}")
    keys, proven = body[: 2 * KEY_BYTES], body[2 * KEY_BYTES :]
    return Pair(keys[:KEY_BYTES].hex(), keys[KEY_BYTES:].hex(), proven.hex())


def proves(pair: Pair, secret: bytes) -> bool:
    """Whether the proof of a Pair was made with this secret."""
    expected = proof(bytes.fromhex(pair.noise_pub), bytes.fromhex(pair.signing_pub), secret)
    return hmac.compare_digest(expected, bytes.fromhex(pair.proof))


def proof(noise_pub: bytes, signing_pub: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, DOMAIN + noise_pub + signing_pub, "sha256")
