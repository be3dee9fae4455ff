"""CDC-004: Message IDs, by `hashlib` and `base64` alone."""

from __future__ import annotations

import base64
import hashlib

from tests.codec_vectors.writing import CodecFile, Vector, gives

KEYS = {"zeros": bytes(32), "counting": bytes(range(32)), "ones": b"\xff" * 32}
SEQUENCES = (0, 1, 2, 255, 256, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1)


def message_id(author: bytes, sequence: int) -> str:
    digest = hashlib.sha256(b"trueseal-message-id-v1\x00" + author + sequence.to_bytes(8, "big")).digest()
    return "tsm1_" + base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def codec_file() -> CodecFile:
    rows = [
        gives(
            f"key-of-{name}-sequence-{sequence}",
            {"author_pub": key.hex(), "sequence": str(sequence)},
            {"message_id": message_id(key, sequence)},
        )
        for name, key in KEYS.items()
        for sequence in SEQUENCES
    ]
    vector = Vector("MSGID-001", "A Message ID names author and Sequence", "CDC-004", "message_id", rows)
    return CodecFile("message_id.json", "Message IDs", [vector])
