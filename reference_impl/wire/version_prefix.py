"""The version prefix before a handshake, and how a relay refuses one (trueseal-relay ADR-0012, CDC-003)."""

from __future__ import annotations

import re

from reference_impl.wire.errors import PrefixError
from reference_impl.wire.profile import WireProfile

MAX_VERSION = 65_535
MAX_REFUSAL = len("unsupported 65535..65535\n")

_REFUSAL_BEGINS = b"unsupported "
_REFUSAL = re.compile(rb"unsupported (0|[1-9][0-9]{0,4})\.\.(0|[1-9][0-9]{0,4})\n")


def encode_prefix(profile: WireProfile, transport_version: int) -> bytes:
    """The bytes that a Device sends first: nothing under a profile without a prefix. Raises PrefixError."""
    if not profile.version_prefix:
        return b""
    if not 0 <= transport_version <= MAX_VERSION:
        raise PrefixError(f"A Transport Version is an unsigned 16-bit number, not {transport_version}.")
    return profile.magic + transport_version.to_bytes(2, "big")


def decode_prefix(profile: WireProfile, data: bytes) -> int | None:
    """The Transport Version that the first bytes of a connection name, `None` while they are too few.

    Raises PrefixError as soon as a byte is wrong; bytes behind the prefix are not looked at.
    """
    magic = profile.magic
    if data[: len(magic)] != magic[: len(data)]:
        raise PrefixError(
            f"A connection begins with {magic.hex()} and its Transport Version; this one begins with {data[:4].hex()}."
        )
    if len(data) < profile.prefix_bytes:
        return None
    return int.from_bytes(data[len(magic) : profile.prefix_bytes], "big")


def encode_refusal(lowest: int, highest: int) -> bytes:
    """What a relay sends, in plain text, before it closes: the Transport Versions that it speaks (RLY-017)."""
    return f"unsupported {lowest}..{highest}\n".encode("ascii")


def is_refusal_begun(data: bytes) -> bool:
    """Whether bytes that a relay sent may be the beginning of a refusal (or the whole and more)."""
    return data[: len(_REFUSAL_BEGINS)] == _REFUSAL_BEGINS[: len(data)]


def decode_refusal(data: bytes) -> tuple[int, int] | None:
    """The lowest and highest Transport Version that a refusal names, `None` while its end is missing.

    Raises PrefixError for a text that is no refusal. What comes behind the line is not looked at.
    """
    end = data.find(b"\n", 0, MAX_REFUSAL) + 1
    if not end and len(data) < MAX_REFUSAL and is_refusal_begun(data):
        return None
    match = _REFUSAL.fullmatch(data[:end])
    bounds = (int(match[1]), int(match[2])) if match else (1, 0)
    if not bounds[0] <= bounds[1] <= MAX_VERSION:
        raise PrefixError(
            f"A refusal reads `unsupported MIN..MAX` and a line feed; this one begins with {data[:32]!r}."
        )
    return bounds
