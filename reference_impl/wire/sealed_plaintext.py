"""What an Envelope holds once it is open, in bytes: fields in a row, and the author's signature (draft-1, CDC-005).

author_pub 32 · sequence u64 · parent count u8 · parents 32 each · Sender Timestamp u64 ms · tag u8 ·
body length u32 · body · signature 64
"""

from __future__ import annotations

from struct import Struct

from reference_impl.wire.content import Content, MalformedError
from reference_impl.wire.keys import KEY_BYTES, SIGNATURE_BYTES

MAX_PARENTS = 255

_HEAD = Struct(f">{KEY_BYTES}sQB")
_MIDDLE = Struct(">QBI")


def encode(content: Content) -> bytes:
    """Everything before the signature. Raises ValueError for a field that does not fit its place."""
    parents = b"".join(bytes.fromhex(parent) for parent in content.parents)
    if len(parents) != KEY_BYTES * len(content.parents) or len(content.parents) > MAX_PARENTS:
        raise ValueError(f"A message has at most {MAX_PARENTS} parents of {KEY_BYTES} bytes each.")
    author = bytes.fromhex(content.author_pub)
    if len(author) != KEY_BYTES:
        raise ValueError(f"An author's key has {KEY_BYTES} bytes, not {len(author)}.")
    for name, number, most in (
        ("Sequence", content.sequence, 2**64),
        ("Sender Timestamp", content.sender_timestamp, 2**64),
        ("tag", content.tag, 2**8),
        ("body length", len(content.body), 2**32),
    ):
        if not 0 <= number < most:
            raise ValueError(f"The {name} is {number}, which does not fit its place.")
    head = _HEAD.pack(author, content.sequence, len(content.parents))
    return head + parents + _MIDDLE.pack(content.sender_timestamp, content.tag, len(content.body)) + content.body


def decode(plaintext: bytes) -> tuple[Content, bytes, bytes]:
    """The message, the bytes that its author signed, and the signature. Raises MalformedError."""
    size = len(plaintext)
    if size < _HEAD.size + _MIDDLE.size + SIGNATURE_BYTES:
        raise MalformedError(f"the sealed plaintext has {size} bytes, which no message fits in")
    author, sequence, count = _HEAD.unpack_from(plaintext)
    middle = _HEAD.size + KEY_BYTES * count
    body = middle + _MIDDLE.size
    end = size - SIGNATURE_BYTES
    if body > end:
        raise MalformedError(f"the sealed plaintext states {count} parents and ends among them")
    timestamp, tag, length = _MIDDLE.unpack_from(plaintext, middle)
    if length != end - body:
        raise MalformedError(f"the sealed plaintext states a body of {length} bytes and has {end - body}")
    content = Content(
        author_pub=author.hex(),
        sequence=sequence,
        sender_timestamp=timestamp,
        tag=tag,
        body=plaintext[body:end],
        parents=tuple(plaintext[at : at + KEY_BYTES].hex() for at in range(_HEAD.size, middle, KEY_BYTES)),
    )
    return content, plaintext[:end], plaintext[end:]
