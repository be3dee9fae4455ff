# ruff: noqa: E501 - a row of a table is one line
"""Codecs that write or read other bytes than the wire profile says (CDC-001 to CDC-004, CDC-007)."""

from __future__ import annotations

import re

from adapters.deviation import Mutant
from adapters.reference.codec_calls import CodecCalls
from adapters.reference.jsonrpc import Params
from reference_impl.wire import frames
from reference_impl.wire.errors import FrameError, NoiseError, RelayAddressError
from reference_impl.wire.frames import HEADER_BYTES, Deliver, DeliverAck, Frame, MalformedFrame, Push, UnknownFrame
from reference_impl.wire.message_id import message_id
from reference_impl.wire.noise import Handshake, Transport
from reference_impl.wire.relay_address import RelayAddress

# -- frames


class WritesLengthsFromTheLittleEnd(CodecCalls):
    def encode_frame(self, frame: Frame) -> bytes:
        data = super().encode_frame(frame)
        return data[:1] + data[1:5][::-1] + data[5:]


class ReadsBlobIdsFromTheLittleEnd(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        frame = super().decode_frame(data)
        if isinstance(frame, Deliver | DeliverAck):
            turned = int.from_bytes(frame.blob_id.to_bytes(8, "big"), "little")
            return Deliver(turned, frame.envelope) if isinstance(frame, Deliver) else DeliverAck(turned)
        return frame


class PassesOverWhatFollowsAFrame(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        end = HEADER_BYTES + int.from_bytes(data[1:HEADER_BYTES], "big")
        return super().decode_frame(data[:end])


class FillsShortPushesUp(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        frame = super().decode_frame(data)
        if isinstance(frame, MalformedFrame) and frame.type == frames.PUSH:
            return Push(frame.body.ljust(frames.KEY_BYTES, b"\0"), b"")
        return frame


class TakesUnknownTypesForMalformed(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        frame = super().decode_frame(data)
        if isinstance(frame, UnknownFrame):
            raise FrameError("There is no such type.")
        return frame


class WritesEnvelopesOfAnySize(CodecCalls):
    def encode_frame(self, frame: Frame) -> bytes:
        if isinstance(frame, Push):
            body = frame.recipient_pub + frame.envelope
            return b"\x01" + len(body).to_bytes(4, "big") + body
        return super().encode_frame(frame)


class CountsTheTagTwice(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        if len(data) > frames.MAX_FRAME_PLAINTEXT - frames.NOISE_TAG:
            raise FrameError("The frame is too long.")
        return super().decode_frame(data)


class ExchangesTwoReasons(CodecCalls):
    def error_body(self, code: str) -> bytes:
        exchanged = {"inbox_full": "rate_limited", "rate_limited": "inbox_full"}
        return super().error_body(exchanged.get(code, code))


# -- Noise


class BindsNoPrologue(CodecCalls):
    def handshake(self, params: Params) -> Handshake:
        return super().handshake({**params, "prologue": ""})


class TakesWhatDoesNotAuthenticate(CodecCalls):
    def read_message(self, side: Handshake | Transport, message: bytes) -> bytes:
        try:
            return super().read_message(side, message)
        except NoiseError:
            return b""


# -- version prefix


class WritesTheVersionFromTheLittleEnd(CodecCalls):
    def encode_prefix(self, transport_version: int) -> bytes:
        prefix = super().encode_prefix(transport_version)
        return prefix[:2] + prefix[2:][::-1]


class ReadsOneByteOfVersion(CodecCalls):
    def decode_prefix(self, data: bytes) -> int:
        return super().decode_prefix(data) & 0xFF


class LooksAtNoMagic(CodecCalls):
    def decode_prefix(self, data: bytes) -> int:
        return super().decode_prefix(b"TS" + data[2:])


class EndsTheRefusalWithoutLineFeed(CodecCalls):
    def encode_refusal(self, lowest: int, highest: int) -> bytes:
        return super().encode_refusal(lowest, highest).rstrip(b"\n")


class ReadsTheFirstVersionOnly(CodecCalls):
    def decode_refusal(self, data: bytes) -> tuple[int, int]:
        lowest, _ = super().decode_refusal(data)
        return lowest, lowest


class TakesAnyTextForARefusal(CodecCalls):
    def decode_refusal(self, data: bytes) -> tuple[int, int]:
        numbers = [int(found) for found in re.findall(rb"[0-9]{1,4}", data)]
        return (numbers[0], numbers[-1]) if numbers else (1, 1)


# -- Message ID and Relay Address


class CutsTheSequenceTo32Bits(CodecCalls):
    def message_id(self, author_pub: str, sequence: int) -> str:
        return message_id(author_pub, sequence % 2**32)


class DropsThePushPort(CodecCalls):
    def parse_address(self, address: str) -> RelayAddress:
        whole = super().parse_address(address)
        return RelayAddress(whole.relay_pub, whole.host, whole.receive_port)


class FallsBackToAnAddressOfItsOwn(CodecCalls):
    def parse_address(self, address: str) -> RelayAddress:
        try:
            return super().parse_address(address)
        except RelayAddressError:
            return RelayAddress(bytes(32), "localhost")


class WritesNoPorts(CodecCalls):
    def format_address(self, address: RelayAddress) -> str:
        return f"trueseal://{address.relay_pub.hex()}@{address.host}"


MUTANTS: tuple[Mutant, ...] = (
    Mutant("codec-little-endian-length", "CDC-001", "writes the length of a frame from its little end", WritesLengthsFromTheLittleEnd),
    Mutant("codec-little-endian-blob-id", "CDC-001", "reads blob ids from their little end", ReadsBlobIdsFromTheLittleEnd),
    Mutant("codec-passes-over-more", "CDC-001", "passes over the bytes behind a frame", PassesOverWhatFollowsAFrame),
    Mutant("codec-short-push", "CDC-001", "fills up a Push that is too short", FillsShortPushesUp),
    Mutant("codec-unknown-is-malformed", "CDC-001", "does not tell an unknown type apart", TakesUnknownTypesForMalformed),
    Mutant("codec-writes-too-large", "CDC-001", "writes frames that fit in no Noise message", WritesEnvelopesOfAnySize),
    Mutant("codec-counts-tag-twice", "CDC-001", "refuses frames 16 bytes below the limit", CountsTheTagTwice),
    Mutant("codec-exchanged-reasons", "CDC-001", "exchanges the bytes of inbox full and rate limited", ExchangesTwoReasons),
    Mutant("codec-no-prologue", "CDC-002", "binds no prologue into the handshake", BindsNoPrologue),
    Mutant("codec-takes-unauthenticated", "CDC-002", "takes messages that do not authenticate", TakesWhatDoesNotAuthenticate),
    Mutant("codec-little-endian-version", "CDC-003", "writes the Transport Version from its little end", WritesTheVersionFromTheLittleEnd),
    Mutant("codec-one-byte-version", "CDC-003", "reads one byte of the Transport Version", ReadsOneByteOfVersion),
    Mutant("codec-no-magic", "CDC-003", "reads any first two bytes as the magic", LooksAtNoMagic),
    Mutant("codec-refusal-without-end", "CDC-003", "ends the refusal of a version without a line feed", EndsTheRefusalWithoutLineFeed),
    Mutant("codec-refusal-of-one", "CDC-003", "reads only the first version of a refusal", ReadsTheFirstVersionOnly),
    Mutant("codec-any-refusal", "CDC-003", "takes any text for the refusal of a version", TakesAnyTextForARefusal),
    Mutant("codec-32-bit-sequence", "CDC-004", "cuts the Sequence in a Message ID to 32 bits", CutsTheSequenceTo32Bits),
    Mutant("codec-drops-push-port", "CDC-007", "drops the push port of a Relay Address", DropsThePushPort),
    Mutant("codec-address-of-its-own", "CDC-007", "takes an address of its own where the text is none", FallsBackToAnAddressOfItsOwn),
    Mutant("codec-writes-no-ports", "CDC-007", "writes Relay Addresses without their ports", WritesNoPorts),
)  # fmt: skip
