"""Frames byte by byte, against the layout in words and not against the encoder."""

from __future__ import annotations

import pytest

from reference_impl.wire import frames
from reference_impl.wire.errors import FrameError
from reference_impl.wire.frames import (
    Ack,
    Deliver,
    DeliverAck,
    Error,
    Frame,
    Heartbeat,
    MalformedFrame,
    Push,
    UnknownFrame,
    decode,
    encode,
)

KEY = bytes(range(32))
WRITTEN: list[tuple[Frame, str]] = [
    (Push(KEY, b"hi"), "01" + "00000022" + KEY.hex() + "6869"),
    (Push(KEY, b""), "01" + "00000020" + KEY.hex()),
    (Deliver(1, b"hi"), "02" + "0000000a" + "0000000000000001" + "6869"),
    (Deliver(2**64 - 1, b""), "02" + "00000008" + "ffffffffffffffff"),
    (Heartbeat(), "0300000000"),
    (Ack(), "0400000000"),
    (Error(), "0500000000"),
    (Error(b"\x11"), "050000000111"),
    (DeliverAck(0), "06" + "00000008" + "0000000000000000"),
    (DeliverAck(2**63), "06" + "00000008" + "8000000000000000"),
    (UnknownFrame(0, b""), "0000000000"),
    (UnknownFrame(7, b"abc"), "0700000003616263"),
    (UnknownFrame(255, b""), "ff00000000"),
    (MalformedFrame(1, KEY[:31]), "01" + "0000001f" + KEY[:31].hex()),
    (MalformedFrame(1, b""), "0100000000"),
    (MalformedFrame(2, bytes(7)), "0200000007" + "00" * 7),
    (MalformedFrame(3, b"x"), "030000000178"),
    (MalformedFrame(4, b"x"), "040000000178"),
    (MalformedFrame(6, bytes(7)), "0600000007" + "00" * 7),
    (MalformedFrame(6, bytes(9)), "0600000009" + "00" * 9),
]


@pytest.mark.parametrize(("frame", "plaintext"), WRITTEN)
def test_each_frame_both_ways(frame: Frame, plaintext: str) -> None:
    assert encode(frame).hex() == plaintext
    assert decode(bytes.fromhex(plaintext)) == frame


@pytest.mark.parametrize(("frame", "plaintext"), WRITTEN)
def test_a_frame_cut_anywhere_or_with_a_byte_more_is_none(frame: Frame, plaintext: str) -> None:
    whole = bytes.fromhex(plaintext)
    for size in range(len(whole)):
        with pytest.raises(FrameError, match=r"A frame has a header of 5 bytes|states a body of"):
            decode(whole[:size])
    with pytest.raises(FrameError, match=f"states a body of {len(whole) - 5} bytes, and {len(whole) - 4} follow"):
        decode(whole + b"\0")


@pytest.mark.parametrize("length", [1, 2**16, 2**31, 2**32 - 1])
def test_a_length_beyond_the_bytes_is_refused(length: int) -> None:
    with pytest.raises(FrameError, match=f"states a body of {length} bytes, and 0 follow"):
        decode(b"\x04" + length.to_bytes(4, "big"))


def test_the_largest_of_each_and_one_byte_more() -> None:
    assert (frames.MAX_FRAME_PLAINTEXT, frames.MAX_ENVELOPE) == (65_519, 65_482)
    largest: list[tuple[Frame, Frame]] = [
        (Push(KEY, bytes(65_482)), Push(KEY, bytes(65_483))),
        (Deliver(0, bytes(65_506)), Deliver(0, bytes(65_507))),
        (UnknownFrame(9, bytes(65_514)), UnknownFrame(9, bytes(65_515))),
    ]
    for fits, too_large in largest:
        plaintext = encode(fits)
        assert len(plaintext) == 65_519
        assert decode(plaintext) == fits
        with pytest.raises(FrameError, match="at most 65519 bytes with its header; this one has 65520"):
            encode(too_large)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (Push(KEY[:31], b""), "by 32 bytes, not 31"),
        (Push(KEY + b"\0", b""), "by 32 bytes, not 33"),
        (Deliver(2**64, b""), "unsigned 64-bit number, not 18446744073709551616"),
        (DeliverAck(-1), "unsigned 64-bit number, not -1"),
        (UnknownFrame(256, b""), "one byte, not 256"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(frame: Frame, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        encode(frame)
