"""CDC-001: frames, put together from the layout `[type u8][length u32][body]`."""

from __future__ import annotations

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.writing import CodecFile, Vector, cut, either, gives, refused

KEY = bytes(range(0x40, 0x60)).hex()
ENVELOPE = b"an envelope".hex()
REASONS = {
    "generic": "00",
    "too_large": "01",
    "malformed": "02",
    "inbox_full": "10",
    "rate_limited": "11",
    "unavailable": "12",
    "internal_error": "13",
}
BLOB_IDS = {"zero": 0, "one": 1, "above-32-bits": 2**32 + 5, "above-53-bits": 2**53 + 1, "largest": 2**64 - 1}


def frame(kind: int, body: str) -> str:
    return f"{kind:02x}{len(body) // 2:08x}{body}"


def u64(number: int) -> str:
    return number.to_bytes(8, "big").hex()


def each_type() -> list[tuple[str, JsonObject, str]]:
    """A name, the frame in words, and its bytes."""
    push: JsonObject = {"type": "push", "recipient_pub": KEY, "envelope": ENVELOPE}
    plain: list[tuple[str, JsonObject, str]] = [
        ("push", push, frame(1, KEY + ENVELOPE)),
        ("push-of-an-empty-envelope", {**push, "envelope": ""}, frame(1, KEY)),
        ("heartbeat", {"type": "heartbeat"}, frame(3, "")),
        ("ack", {"type": "ack"}, frame(4, "")),
    ]
    for name, blob_id in BLOB_IDS.items():
        deliver: JsonObject = {"type": "deliver", "blob_id": str(blob_id), "envelope": ENVELOPE}
        plain.append((f"deliver-blob-id-{name}", deliver, frame(2, u64(blob_id) + ENVELOPE)))
        ack: JsonObject = {"type": "deliver_ack", "blob_id": str(blob_id)}
        plain.append((f"deliver-ack-blob-id-{name}", ack, frame(6, u64(blob_id))))
    errors: list[tuple[str, JsonObject, str]] = [
        (f"error-{code.replace('_', '-')}", {"type": "error", "code": code}, frame(5, byte))
        for code, byte in REASONS.items()
    ]
    return plain + errors


def cut_and_lengthened() -> list[JsonObject]:
    rows: list[JsonObject] = []
    for name, _, data in each_type():
        if name in ("push", "deliver-blob-id-one", "heartbeat", "ack", "error-generic", "deliver-ack-blob-id-one"):
            rows.append(cut(f"{name}-cut-at-every-byte", {"data": data}, "data", "malformed"))
            rows.append(refused(f"{name}-with-a-byte-behind-it", {"data": data + "00"}, "malformed"))
            rows.append(refused(f"{name}-twice-in-one-message", {"data": data * 2}, "malformed"))
    rows += [
        refused(f"length-{length:08x}-and-no-body", {"data": f"04{length:08x}"}, "malformed")
        for length in (1, 2**8, 2**16, 2**24, 2**31, 2**32 - 1)
    ]
    return rows


def body_lengths() -> list[JsonObject]:
    rows = [
        refused("push-body-of-31-bytes", {"data": frame(1, KEY[:62])}, "malformed"),
        refused("push-body-of-0-bytes", {"data": frame(1, "")}, "malformed"),
        refused("deliver-body-of-7-bytes", {"data": frame(2, "00" * 7)}, "malformed"),
        refused("deliver-body-of-0-bytes", {"data": frame(2, "")}, "malformed"),
        gives(
            "deliver-body-of-8-bytes",
            {"data": frame(2, u64(9))},
            {"frame": {"type": "deliver", "blob_id": "9", "envelope": ""}},
        ),
        refused("deliver-ack-body-of-7-bytes", {"data": frame(6, "00" * 7)}, "malformed"),
        refused("deliver-ack-body-of-0-bytes", {"data": frame(6, "")}, "malformed"),
    ]
    passed_over: list[tuple[str, str, JsonObject]] = [
        ("heartbeat-body-of-1-byte", frame(3, "00"), {"type": "heartbeat"}),
        ("ack-body-of-1-byte", frame(4, "00"), {"type": "ack"}),
        ("deliver-ack-body-of-9-bytes", frame(6, u64(9) + "00"), {"type": "deliver_ack", "blob_id": "9"}),
    ]
    return rows + [
        either(name, {"data": data}, {"refused": ["malformed"]}, {"result": {"frame": fields}})
        for name, data, fields in passed_over
    ]


def largest(size: int) -> tuple[JsonObject, JsonObject]:
    """A Push with an envelope of `size` bytes, and the bytes that it comes to."""
    envelope: JsonObject = {"repeat": "e5", "times": size}
    push: JsonObject = {"type": "push", "recipient_pub": KEY, "envelope": envelope}
    return push, {"join": [f"01{32 + size:08x}{KEY}", envelope]}


def codec_file() -> CodecFile:
    fits, bytes_of_it = largest(65_482)
    too_large, _ = largest(65_483)
    smaller, bytes_of_smaller = largest(65_481)
    vectors = [
        Vector("FRAME-001", "A frame is written", "CDC-001", "encode_frame", [
            gives(name, {"frame": fields}, {"data": data}) for name, fields, data in each_type()
        ]),
        Vector("FRAME-002", "A frame is read", "CDC-001", "decode_frame", [
            gives(name, {"data": data}, {"frame": fields}) for name, fields, data in each_type()
        ]),
        Vector(
            "FRAME-003", "What is not exactly one frame is malformed", "CDC-001", "decode_frame", cut_and_lengthened()
        ),
        Vector(
            "FRAME-004", "A body too short for its type is malformed", "CDC-001", "decode_frame", body_lengths(),
            "More bytes than a type has are refused or passed over: the sources leave that open.",
        ),
        Vector("FRAME-005", "An unknown type is told apart", "CDC-001", "decode_frame", [
            refused(f"type-{kind:02x}-with-{len(body) // 2}-bytes", {"data": frame(kind, body)}, "unknown_type")
            for kind in (0x00, 0x07, 0x10, 0x7F, 0x80, 0xFF)
            for body in ("", KEY)
        ]),
        Vector("FRAME-006", "The largest Envelope is written, one byte more is not", "CDC-001", "encode_frame", [
            gives("envelope-of-65481-bytes", {"frame": smaller}, {"data": bytes_of_smaller}),
            gives("envelope-of-65482-bytes", {"frame": fits}, {"data": bytes_of_it}),
            refused("envelope-of-65483-bytes", {"frame": too_large}, "too_large"),
        ]),
        Vector("FRAME-007", "The largest Envelope is read", "CDC-001", "decode_frame", [
            gives("envelope-of-65481-bytes", {"data": bytes_of_smaller}, {"frame": smaller}),
            gives("envelope-of-65482-bytes", {"data": bytes_of_it}, {"frame": fits}),
        ]),
    ]  # fmt: skip
    return CodecFile("frames.json", "Frames: the plaintext of one Noise message", vectors)
