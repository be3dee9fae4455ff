"""Frames: what one Noise message carries, `[type u8][length u32 BE][body]` (trueseal-relay ADR-0008, CDC-001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct

from reference_impl.wire.errors import FrameError

MAX_NOISE_MESSAGE = 65_535
NOISE_TAG = 16
MAX_FRAME_PLAINTEXT = MAX_NOISE_MESSAGE - NOISE_TAG
KEY_BYTES = 32
BLOB_ID_BYTES = 8

_HEADER = Struct(">BI")
_BLOB_ID = Struct(">Q")
_DELIVER = Struct(">BIQ")
HEADER_BYTES = _HEADER.size
MAX_BODY = MAX_FRAME_PLAINTEXT - HEADER_BYTES
MAX_ENVELOPE = MAX_BODY - KEY_BYTES

PUSH, DELIVER, HEARTBEAT, ACK, ERROR, DELIVER_ACK = range(1, 7)


@dataclass(frozen=True, slots=True)
class Push:
    """From a sender, on a Push Session: an Envelope (opaque bytes) for the Inbox of a Device's 32-byte Noise key."""

    recipient_pub: bytes
    envelope: bytes


@dataclass(frozen=True, slots=True)
class Deliver:
    """To a Device, on its Receive Session: one Blob. `blob_id` is an unsigned 64-bit number that means nothing."""

    blob_id: int
    envelope: bytes


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Begun by the Device, echoed by the Relay; empty."""


@dataclass(frozen=True, slots=True)
class Ack:
    """The Relay has the pushed Blob in durable storage; empty."""


@dataclass(frozen=True, slots=True)
class Error:
    """A refusal. `reason` is the body: one byte under draft-1, none under unversioned (`WireProfile.code_of_body`)."""

    reason: bytes = b""


@dataclass(frozen=True, slots=True)
class DeliverAck:
    """From a Device: the Blob may be deleted."""

    blob_id: int


@dataclass(frozen=True, slots=True)
class UnknownFrame:
    """A well-formed frame of a type that nobody has defined (RLY-018)."""

    type: int
    body: bytes


@dataclass(frozen=True, slots=True)
class MalformedFrame:
    """A well-formed frame of a known type whose body has an impossible length (RLY-009)."""

    type: int
    body: bytes


Frame = Push | Deliver | Heartbeat | Ack | Error | DeliverAck | UnknownFrame | MalformedFrame

_HEARTBEAT, _ACK = Heartbeat(), Ack()
_HEARTBEAT_BYTES, _ACK_BYTES = _HEADER.pack(HEARTBEAT, 0), _HEADER.pack(ACK, 0)


def decode(plaintext: bytes) -> Frame:
    """Read the one frame of a decrypted Noise message.

    Raises FrameError unless the bytes are exactly one frame: shorter or longer than the length that it states.
    """
    size = len(plaintext)
    if size < HEADER_BYTES:
        raise FrameError(f"A frame has a header of {HEADER_BYTES} bytes; here are {size}.")
    kind, length = _HEADER.unpack_from(plaintext)
    if length != size - HEADER_BYTES:
        follow = size - HEADER_BYTES
        raise FrameError(
            f"The frame of type 0x{kind:02x} states a body of {length} bytes, and {follow} follow its header."
        )
    read = _READERS.get(kind)
    return UnknownFrame(kind, plaintext[HEADER_BYTES:]) if read is None else read(plaintext)


def encode(frame: Frame) -> bytes:
    """Write a frame as the plaintext of a Noise message. Raises FrameError if a field does not fit in."""
    plaintext = _write(frame)
    if len(plaintext) > MAX_FRAME_PLAINTEXT:
        raise FrameError(
            f"A frame has at most {MAX_FRAME_PLAINTEXT} bytes with its header; this one has {len(plaintext)}."
        )
    return plaintext


def _write(frame: Frame) -> bytes:
    match frame:
        case Push(recipient_pub, envelope):
            if len(recipient_pub) != KEY_BYTES:
                raise FrameError(f"A Push names its recipient by {KEY_BYTES} bytes, not {len(recipient_pub)}.")
            return _HEADER.pack(PUSH, KEY_BYTES + len(envelope)) + recipient_pub + envelope
        case Deliver(blob_id, envelope):
            return _with_blob_id(DELIVER, blob_id, envelope)
        case DeliverAck(blob_id):
            return _with_blob_id(DELIVER_ACK, blob_id, b"")
        case Error(reason):
            return _raw(ERROR, reason)
        case UnknownFrame(kind, body) | MalformedFrame(kind, body):
            return _raw(kind, body)
        case Ack() | Heartbeat():
            return _ACK_BYTES if isinstance(frame, Ack) else _HEARTBEAT_BYTES


def _with_blob_id(kind: int, blob_id: int, envelope: bytes) -> bytes:
    if not 0 <= blob_id < 2**64:
        raise FrameError(f"A blob id is an unsigned 64-bit number, not {blob_id}.")
    return _DELIVER.pack(kind, BLOB_ID_BYTES + len(envelope), blob_id) + envelope


def _raw(kind: int, body: bytes) -> bytes:
    if not 0 <= kind <= 255:
        raise FrameError(f"A frame type is one byte, not {kind}.")
    return _HEADER.pack(kind, len(body)) + body


def _read_push(plaintext: bytes) -> Frame:
    end = HEADER_BYTES + KEY_BYTES
    if len(plaintext) < end:
        return MalformedFrame(PUSH, plaintext[HEADER_BYTES:])
    return Push(plaintext[HEADER_BYTES:end], plaintext[end:])


def _read_deliver(plaintext: bytes) -> Frame:
    if len(plaintext) < _DELIVER.size:
        return MalformedFrame(DELIVER, plaintext[HEADER_BYTES:])
    return Deliver(_BLOB_ID.unpack_from(plaintext, HEADER_BYTES)[0], plaintext[_DELIVER.size :])


def _read_heartbeat(plaintext: bytes) -> Frame:
    return _HEARTBEAT if len(plaintext) == HEADER_BYTES else MalformedFrame(HEARTBEAT, plaintext[HEADER_BYTES:])


def _read_ack(plaintext: bytes) -> Frame:
    return _ACK if len(plaintext) == HEADER_BYTES else MalformedFrame(ACK, plaintext[HEADER_BYTES:])


def _read_error(plaintext: bytes) -> Frame:
    return Error(plaintext[HEADER_BYTES:])


def _read_deliver_ack(plaintext: bytes) -> Frame:
    if len(plaintext) != _DELIVER.size:
        return MalformedFrame(DELIVER_ACK, plaintext[HEADER_BYTES:])
    return DeliverAck(_BLOB_ID.unpack_from(plaintext, HEADER_BYTES)[0])


_READERS: Mapping[int, Callable[[bytes], Frame]] = {
    PUSH: _read_push,
    DELIVER: _read_deliver,
    HEARTBEAT: _read_heartbeat,
    ACK: _read_ack,
    ERROR: _read_error,
    DELIVER_ACK: _read_deliver_ack,
}
