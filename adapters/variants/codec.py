"""Codecs that are right and not like the reference: in what they pass over, leave out, add, and call a fault."""

from __future__ import annotations

from adapters.deviation import Variant
from adapters.reference.codec_calls import CodecCalls
from adapters.reference.codec_params import Call
from adapters.reference.jsonrpc import Params
from reference_impl.wire import frames
from reference_impl.wire.frames import Ack, DeliverAck, Frame, Heartbeat, MalformedFrame
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.relay_address import PUSH_PORT, RECEIVE_PORT, RelayAddress


class PassesOverLongBodies(CodecCalls):
    def decode_frame(self, data: bytes) -> Frame:
        frame = super().decode_frame(data)
        if isinstance(frame, MalformedFrame) and frame.type in (frames.HEARTBEAT, frames.ACK):
            return Heartbeat() if frame.type == frames.HEARTBEAT else Ack()
        if isinstance(frame, MalformedFrame) and frame.type == frames.DELIVER_ACK and len(frame.body) > 8:
            return DeliverAck(int.from_bytes(frame.body[:8], "big"))
        return frame


class LeavesDefaultPortsOut(CodecCalls):
    def format_address(self, address: RelayAddress) -> str:
        text = super().format_address(address)
        if address.receive_port == RECEIVE_PORT:
            text = text.replace(f":{RECEIVE_PORT}?", "?")
        return text.removesuffix(f"?push={PUSH_PORT}")

    def parse_address(self, address: str) -> RelayAddress:
        whole = super().parse_address(address)
        host = f"[{whole.host}]" if ":" in whole.host else whole.host
        return RelayAddress(whole.relay_pub, host, whole.receive_port, whole.push_port)


class SaysMore(CodecCalls):
    """Its answers hold fields that nobody asked for, and a message that is too short is malformed to it."""

    def answered(self, call: Call, params: Params) -> JsonObject:
        result = super().answered(call, params)
        if "refused" in result and "pattern" in params and _last_read_is_short(params):
            return {"refused": "malformed"}
        return {**result, "took": "1 ms"}


def _last_read_is_short(params: Params) -> bool:
    messages = params["messages"]
    last = messages[-1] if isinstance(messages, list) else None
    return isinstance(last, dict) and "read" in last and len(str(last["read"])) < 32


VARIANTS: tuple[Variant, ...] = (
    Variant(
        "codec-passes-over-long-bodies",
        "passes over bytes in a body that is to be empty or behind a blob id: whether they are refused is open",
        PassesOverLongBodies,
    ),
    Variant(
        "codec-leaves-default-ports-out",
        "writes no default port and gives an IPv6 host in brackets: no port is lost, and both forms name one host",
        LeavesDefaultPortsOut,
    ),
    Variant(
        "codec-says-more",
        "adds fields to its answers and calls a Noise message without room for its tag malformed: it is refused anyway",
        SaysMore,
    ),
)
