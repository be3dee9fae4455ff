"""CDC-003: `TS` and a version, and the refusal in plain text."""

from __future__ import annotations

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.writing import CodecFile, Vector, cut, gives, refused


def line(text: str) -> JsonObject:
    return {"data": text.encode("ascii").hex()}


def codec_file() -> CodecFile:
    vectors = [
        Vector("PREFIX-001", "The version prefix is written", "CDC-003", "encode_version_prefix", [
            gives("version-1", {"transport_version": 1}, {"data": "54530001"}),
        ]),
        Vector("PREFIX-002", "The version prefix is read", "CDC-003", "decode_version_prefix", [
            gives(f"version-{version}", {"data": f"5453{version:04x}"}, {"transport_version": version})
            for version in (0, 1, 2, 255, 256, 258, 65_535)
        ]),
        Vector("PREFIX-003", "What is no version prefix is refused", "CDC-003", "decode_version_prefix", [
            cut("cut-at-every-byte", {"data": "54530001"}, "data", "malformed"),
            *(refused(name, {"data": data}, "malformed") for name, data in (
                ("magic-turned-round", "53540001"), ("magic-in-small-letters", "74730001"),
                ("second-byte-of-the-magic-wrong", "54540001"), ("zeros", "00000000"), ("http", "47455420"),
            )),
        ]),
        Vector("PREFIX-004", "The refusal of a version is written", "CDC-003", "encode_version_refusal", [
            gives("1-to-1", {"min": 1, "max": 1}, line("unsupported 1..1\n")),
        ]),
        Vector("PREFIX-005", "The refusal of a version is read", "CDC-003", "decode_version_refusal", [
            gives(f"{low}-to-{high}", line(f"unsupported {low}..{high}\n"), {"min": low, "max": high})
            for low, high in ((1, 1), (2, 2), (1, 3), (9, 10), (256, 65_535))
        ]),
        Vector("PREFIX-006", "What is no refusal of a version is refused", "CDC-003", "decode_version_refusal", [
            cut("cut-at-every-byte", line("unsupported 1..2\n"), "data", "malformed"),
            *(refused(name, line(text), "malformed") for name, text in (
                ("one-number", "unsupported 1\n"), ("three-dots", "unsupported 1...2\n"),
                ("words", "unsupported a..b\n"),
                ("another-word", "unsupportet 1..2\n"), ("no-numbers", "unsupported ..\n"),
                ("above-16-bits", "unsupported 1..65536\n"), ("negative", "unsupported -1..1\n"),
            )),
        ]),
    ]  # fmt: skip
    return CodecFile("version_prefix.json", "The version prefix before a handshake, and its refusal", vectors)
