"""As much of the protobuf wire format as Envelopes and Group Manifests have."""

from __future__ import annotations


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field_number(field: int, number: int) -> bytes:
    """Left out where it is 0, as proto3 does."""
    return varint(field << 3) + varint(number) if number else b""


def field_bytes(field: int, data: bytes) -> bytes:
    """Left out where it is empty, as proto3 does."""
    return varint(field << 3 | 2) + varint(len(data)) + data if data else b""
