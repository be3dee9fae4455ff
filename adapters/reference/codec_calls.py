"""The `codec.*` methods of the driver protocol, answered by the reference's wire (`adapters/PROTOCOL.md`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from adapters.reference.codec_params import Call, RefusedError, entries, hex_bytes, u64
from adapters.reference.jsonrpc import Params, fields, integer, text
from adapters.reference.sealed_calls import SealedCalls
from reference_impl.wire import frames, relay_address, version_prefix
from reference_impl.wire.errors import FrameError, NoiseError, PrefixError, RelayAddressError, WireError
from reference_impl.wire.frames import Ack, Deliver, DeliverAck, Error, Frame, Heartbeat, Push, UnknownFrame
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.message_id import message_id
from reference_impl.wire.noise import NK, XX, Handshake, KeyPair, Transport
from reference_impl.wire.profile import load_profile

PROFILE = load_profile("draft-1")


class CodecCalls(SealedCalls):
    """One method a call, without any state. A deviation overrides what it does otherwise."""

    def table(self) -> Mapping[str, Call]:
        """Every method by its name, for a driver to serve. A call raises InvalidParamsError."""
        return {name: partial(self.answered, call) for name, call in self.calls().items()}

    def answered(self, call: Call, params: Params) -> JsonObject:
        try:
            return call(params)
        except RefusedError as refused:
            return {"refused": refused.reason}

    def calls(self) -> Mapping[str, Call]:
        return {
            "codec.encode_frame": self._encode_frame,
            "codec.decode_frame": self._decode_frame,
            "codec.noise_handshake": self._noise_handshake,
            "codec.encode_version_prefix": self._encode_version_prefix,
            "codec.decode_version_prefix": self._decode_version_prefix,
            "codec.encode_version_refusal": self._encode_version_refusal,
            "codec.decode_version_refusal": self._decode_version_refusal,
            "codec.message_id": self._message_id,
            "codec.parse_relay_address": self._parse_relay_address,
            "codec.format_relay_address": self._format_relay_address,
            **self.sealed_calls(),
        }

    # -- what a deviation may do otherwise: bytes in, bytes out

    def encode_frame(self, frame: Frame) -> bytes:
        return frames.encode(frame)

    def decode_frame(self, data: bytes) -> Frame:
        return frames.decode(data)

    def error_body(self, code: str) -> bytes:
        return PROFILE.error_body(code)

    def handshake(self, params: Params) -> Handshake:
        return Handshake(
            XX if text(params, "pattern") == "XX" else NK,
            initiator=text(params, "side") == "initiator",
            static=_key_pair(params, "static"),
            remote_static=_optional(params, "remote_static"),
            prologue=hex_bytes(params, "prologue"),
            ephemeral=_key_pair(params, "ephemeral"),
        )

    def read_message(self, side: Handshake | Transport, message: bytes) -> bytes:
        return side.read_message(message) if isinstance(side, Handshake) else side.decrypt(message)

    def encode_prefix(self, transport_version: int) -> bytes:
        return version_prefix.encode_prefix(PROFILE, transport_version)

    def decode_prefix(self, data: bytes) -> int:
        version = version_prefix.decode_prefix(PROFILE, data)
        if version is None or len(data) != PROFILE.prefix_bytes:
            raise PrefixError("A version prefix has four bytes.")
        return version

    def encode_refusal(self, lowest: int, highest: int) -> bytes:
        return version_prefix.encode_refusal(lowest, highest)

    def decode_refusal(self, data: bytes) -> tuple[int, int]:
        bounds = version_prefix.decode_refusal(data)
        if bounds is None or not data.endswith(b"\n"):
            raise PrefixError("A refusal ends with a line feed.")
        return bounds

    def message_id(self, author_pub: str, sequence: int) -> str:
        return message_id(author_pub, sequence)

    def parse_address(self, address: str) -> relay_address.RelayAddress:
        return relay_address.parse(address)

    def format_address(self, address: relay_address.RelayAddress) -> str:
        return str(address)

    # -- the methods

    def _encode_frame(self, params: Params) -> JsonObject:
        try:
            return {"data": self.encode_frame(self._frame(fields(params, "frame"))).hex()}
        except FrameError:
            raise RefusedError("too_large") from None

    def _frame(self, frame: Params) -> Frame:
        kind = text(frame, "type")
        if kind in ("heartbeat", "ack"):
            return Heartbeat() if kind == "heartbeat" else Ack()
        if kind == "push":
            return Push(hex_bytes(frame, "recipient_pub"), hex_bytes(frame, "envelope"))
        if kind == "error":
            return Error(self.error_body(text(frame, "code")))
        if kind == "deliver":
            return Deliver(u64(frame, "blob_id"), hex_bytes(frame, "envelope"))
        return DeliverAck(u64(frame, "blob_id"))

    def _decode_frame(self, params: Params) -> JsonObject:
        try:
            return {"frame": _frame_fields(self.decode_frame(hex_bytes(params, "data")))}
        except WireError:
            raise RefusedError("malformed") from None

    def _noise_handshake(self, params: Params) -> JsonObject:
        try:
            return self._handed_over(params)
        except NoiseError:
            raise RefusedError("unauthenticated") from None

    def _handed_over(self, params: Params) -> JsonObject:
        handshake = self.handshake(params)
        side: Handshake | Transport = handshake
        messages: list[str] = []
        for entry in entries(params, "messages"):
            if "read" in entry:
                messages.append(self.read_message(side, hex_bytes(entry, "read")).hex())
            elif isinstance(side, Handshake):
                messages.append(side.write_message(hex_bytes(entry, "write")).hex())
            else:
                messages.append(side.encrypt(hex_bytes(entry, "write")).hex())
            if isinstance(side, Handshake) and side.finished:
                side = side.transport()
        known = handshake.remote_static
        return {
            "messages": messages,
            "handshake_hash": handshake.handshake_hash.hex(),
            "remote_static": None if known is None else known.hex(),
        }

    def _encode_version_prefix(self, params: Params) -> JsonObject:
        return {"data": self.encode_prefix(integer(params, "transport_version")).hex()}

    def _decode_version_prefix(self, params: Params) -> JsonObject:
        try:
            return {"transport_version": self.decode_prefix(hex_bytes(params, "data"))}
        except PrefixError:
            raise RefusedError("malformed") from None

    def _encode_version_refusal(self, params: Params) -> JsonObject:
        return {"data": self.encode_refusal(integer(params, "min"), integer(params, "max")).hex()}

    def _decode_version_refusal(self, params: Params) -> JsonObject:
        try:
            lowest, highest = self.decode_refusal(hex_bytes(params, "data"))
        except PrefixError:
            raise RefusedError("malformed") from None
        return {"min": lowest, "max": highest}

    def _message_id(self, params: Params) -> JsonObject:
        return {"message_id": self.message_id(text(params, "author_pub"), u64(params, "sequence"))}

    def _parse_relay_address(self, params: Params) -> JsonObject:
        try:
            address = self.parse_address(text(params, "text"))
        except RelayAddressError:
            raise RefusedError("invalid") from None
        return {
            "relay_pub": address.relay_pub.hex(),
            "host": address.host,
            "receive_port": address.receive_port,
            "push_port": address.push_port,
        }

    def _format_relay_address(self, params: Params) -> JsonObject:
        host, ports = text(params, "host"), (integer(params, "receive_port"), integer(params, "push_port"))
        address = relay_address.RelayAddress(hex_bytes(params, "relay_pub"), host, *ports)
        return {"text": self.format_address(address)}


def _frame_fields(frame: Frame) -> JsonObject:
    match frame:
        case Push(recipient_pub, envelope):
            return {"type": "push", "recipient_pub": recipient_pub.hex(), "envelope": envelope.hex()}
        case Deliver(blob_id, envelope):
            return {"type": "deliver", "blob_id": str(blob_id), "envelope": envelope.hex()}
        case DeliverAck(blob_id):
            return {"type": "deliver_ack", "blob_id": str(blob_id)}
        case Error(reason):
            return {"type": "error", "code": PROFILE.code_of_body(reason)}
        case Heartbeat() | Ack():
            return {"type": "ack" if isinstance(frame, Ack) else "heartbeat"}
        case _:
            raise RefusedError("unknown_type" if isinstance(frame, UnknownFrame) else "malformed")


def _optional(params: Params, name: str) -> bytes | None:
    return None if params.get(name) is None else hex_bytes(params, name)


def _key_pair(params: Params, name: str) -> KeyPair | None:
    private = _optional(params, name)
    return None if private is None else KeyPair.from_private(private)
