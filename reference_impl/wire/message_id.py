"""Message IDs: the name of a message, one for all recipients and deliveries of it (ADR-0020, CDC-004)."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

PREFIX = "tsm1_"
DOMAIN = b"trueseal-message-id-v1\x00"


@lru_cache(maxsize=4096)
def message_id(author_pub: str, sequence: int) -> str:
    """Return the Message ID of an author's message.

    `author_pub` is the signing key as 64 hex digits, `sequence` fits an unsigned 64-bit integer.
    """
    digest = hashlib.sha256(DOMAIN + bytes.fromhex(author_pub) + sequence.to_bytes(8, "big")).digest()
    return PREFIX + base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
