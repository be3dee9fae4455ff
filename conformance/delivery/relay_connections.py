"""The bare connections of a run: the kit writes their bytes itself, right or spoilt, and reads what comes back."""

from __future__ import annotations

import base64
import hashlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from conformance.delivery.relay_connection_records import (
    BytesCame,
    BytesSent,
    Connected,
    ConnectionClosed,
    Disconnected,
    ErrorCame,
    Established,
    HeartbeatCame,
    ReadingPaused,
    StrangeFrame,
    VersionRefused,
)
from conformance.delivery.relay_pushes import Push, State
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.outcome import DriverError, SpecBrokenError, VectorError
from conformance.system import Call, System
from reference_impl.wire import connection as wire
from reference_impl.wire import frames, version_prefix
from reference_impl.wire.connection import Kind
from reference_impl.wire.errors import ConnectionEndedError, ProfileError, WireError
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import load_profile

SHOWN_BYTES = 16
WRONG_RELAY = KeyPair.from_private(hashlib.sha256(b"conformance kit: the key of another relay").digest())
GARBAGE: Mapping[str, bytes] = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303") + hashlib.shake_128(b"hello").digest(194),
    "random": hashlib.shake_128(b"conformance kit: garbage").digest(512),
    "zeros": bytes(512),
}
"""What strangers send to a port that they do not know. No magic begins like any of it."""


class Handshake(Enum):
    """How far a peer goes, and how."""

    WHOLE = "whole"
    NONE = "none"
    HALF = "half"
    WRONG_RELAY_KEY = "wrong_relay_key"


HOW: Mapping[Handshake, str] = {
    Handshake.WHOLE: "the whole handshake",
    Handshake.NONE: "nothing behind the version prefix",
    Handshake.HALF: "half a handshake",
    Handshake.WRONG_RELAY_KEY: "a handshake for another relay's key",
}


@dataclass(slots=True)
class Bare:
    """One bare connection. `session` speaks the wire; without it, bytes are only sent and looked at.

    `sent` is everything that left, `waiting` what has no answer yet: a push, or None for another frame.
    """

    label: str
    kind: Kind
    name: str
    device: str = ""
    session: wire.Connection | None = None
    bytewise: bool = False
    silent: bool = False
    may_be_answered: bool = False
    established: bool = False
    closed: str = ""
    sent: bytearray = field(default_factory=bytearray)
    waiting: deque[Push | None] = field(default_factory=deque)


class Host(Protocol):
    """What a world gives its connections."""

    system: System
    devices: Mapping[str, KeyPair]
    step: int

    @property
    def at(self) -> int: ...

    @property
    def patience(self) -> float: ...

    def record(self, record: Record) -> None: ...

    def see(self, record: Record) -> None: ...

    def call(self, method: str, params: JsonObject) -> JsonObject: ...

    def await_more(self, seconds: float) -> bool: ...

    def answered(self, push: Push, result: JsonObject) -> None: ...

    def opened_on(self, bare: Bare) -> None:
        """The device's Receive Session is open there."""
        ...

    def delivered_on(self, bare: Bare, blob_id: int, envelope: bytes) -> None: ...

    def left_on(self, bare: Bare) -> None:
        """The device ended it."""
        ...

    def ended_on(self, bare: Bare) -> None:
        """The relay ended it."""
        ...


class Connections:
    """By label. Requires capability `tcp`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._profile = load_profile(host.system.wire)
        self._by_label: dict[str, Bare] = {}
        self._by_name: dict[str, Bare] = {}
        self._held: dict[str, bytearray] | None = None

    def find(self, label: str) -> Bare | None:
        return self._by_label.get(label)

    def __getitem__(self, label: str) -> Bare:
        bare = self._by_label.get(label)
        if bare is None:
            raise VectorError(f"no connection is called {label}")
        return bare

    def forget(self) -> None:
        """The relay is gone, and every connection with it."""
        for bare in self._by_label.values():
            bare.closed = bare.closed or "gone"
            bare.waiting.clear()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is sent on one connection meanwhile leaves in one piece."""
        self._held = {}
        try:
            yield
        finally:
            held, self._held = self._held, None
        for label, data in held.items():
            self._write(self[label], bytes(data))

    # -- what a vector does

    def connect(self, argument: Argument) -> None:
        kind: Kind = "push" if argument.text("to") == "push" else "receive"
        label = argument.text("as")
        if label in self._by_label:
            raise VectorError(f"two connections are called {label}")
        handshake = Handshake(argument.text("handshake", "whole"))
        result = self._host.call("connection.open", {"kind": kind})
        bare = Bare(label, kind, str(result.get("connection", "")), bytewise=argument.flag("bytewise"))
        self._by_label[label] = self._by_name[bare.name] = bare
        opening = self._opening(bare, argument, handshake, str(result.get("relay_pub", "")))
        how = f"{_prefix_words(argument)}, {HOW[handshake]}" if opening is not None else "no byte yet"
        self._host.record(Connected(at=self._host.at, step=self._host.step, connection=label, kind=kind, how=how))
        if "relay_pub" not in result:
            self._closed(bare, "refused")
        elif opening is not None:
            self._write(bare, opening)
            if handshake is Handshake.WHOLE:
                self._await_handshake(bare)

    def push(self, push: Push, body: bytes, cut_after: int) -> None:
        """Send a Push frame; with `cut_after` only so many bytes of its message, and then nothing more, ever."""
        bare = self[push.session]
        message = self._encrypted(bare, frames.encode(frames.UnknownFrame(frames.PUSH, body)))
        if cut_after:
            push.state = State.CUT
            self._cut_off(bare, message, cut_after, f"the first {cut_after} bytes of the Push {push.label}")
            return
        bare.waiting.append(push)
        self._write(bare, message)

    def send_frame(self, argument: Argument) -> None:
        bare = self[argument.text("via")]
        plaintext = _plaintext(argument)
        for _ in range(argument.number("times", 1)):
            message = bytearray(self._encrypted(bare, plaintext))
            if argument.flag("broken"):
                message[-1] ^= 1
            if argument.text("type", "") != "heartbeat":
                bare.waiting.append(None)
            self._sent(bare, _frame_words(argument, plaintext))
            self._write(bare, bytes(message))

    def send_bytes(self, argument: Argument) -> None:
        bare = self[argument.text("via")]
        if "replay_of" in argument:
            earlier = self[argument.text("replay_of")]
            bare.may_be_answered = True
            self._sent(bare, f"again the {len(earlier.sent)} bytes that were sent on {earlier.label}")
            self._write(bare, bytes(earlier.sent))
            return
        data = GARBAGE[argument.text("garbage")] if "garbage" in argument else bytes.fromhex(argument.text("hex"))
        self._sent(bare, f"{argument.text('garbage', 'bytes')}, {len(data)} bytes, as they are,")
        self._write(bare, data)

    def pause_reading(self, argument: Argument) -> None:
        bare = self[argument.text("of")]
        self._host.record(ReadingPaused(at=self._host.at, step=self._host.step, connection=bare.label))
        self._host.call("connection.pause", {"connection": bare.name})

    def disconnect(self, argument: Argument) -> None:
        bare = self[argument.text("of")]
        how = argument.text("how", "fin")
        if bare.closed:
            return
        self._host.record(Disconnected(at=self._host.at, step=self._host.step, connection=bare.label, how=how))
        self._host.call("connection.close", {"connection": bare.name, "how": how})
        if how != "fin":
            bare.closed = how
        if how != "vanish":
            self._host.left_on(bare)

    def deliver_ack(self, bare: Bare, blob_id: str) -> None:
        self._write(bare, self._encrypted(bare, frames.encode(frames.DeliverAck(int(blob_id)))))

    # -- bytes out

    def _opening(self, bare: Bare, argument: Argument, handshake: Handshake, relay_pub: str) -> bytes | None:
        """The first bytes; None where the vector sends its own."""
        if argument.flag("raw"):
            return None
        own = None
        if bare.kind == "receive":
            bare.device = argument.text("device", "dana")
            own = self._host.devices[bare.device]
        key = WRONG_RELAY.public if handshake is Handshake.WRONG_RELAY_KEY else bytes.fromhex(relay_pub or "00" * 32)
        version = argument.number("version", 1)
        session = wire.Connection.initiator(self._profile, bare.kind, key, own, transport_version=version)
        opening = session.data_to_send()
        prefix = self._profile.prefix_bytes
        if "prefix" in argument:
            opening = bytes.fromhex(argument.text("prefix")) + opening[prefix:]
        bare.silent = handshake in (Handshake.NONE, Handshake.HALF)
        bare.session = session
        if handshake is Handshake.NONE:
            return opening[:prefix]
        if handshake is Handshake.HALF and bare.kind == "push":
            return opening[: prefix + (len(opening) - prefix) // 2]
        return opening

    def _encrypted(self, bare: Bare, plaintext: bytes) -> bytes:
        if bare.session is None or not bare.established or bare.closed:
            raise SpecBrokenError(
                f"{bare.label} has no session to send a frame on",
                expected=f"the handshake on {bare.label} is done, and the connection open",
                observed=f"{bare.label} was closed ({bare.closed})" if bare.closed else "no handshake was finished",
            )
        try:
            bare.session.send_plaintext(plaintext)
        except ConnectionEndedError:
            raise SpecBrokenError(
                f"{bare.label} is over, and a frame was to be sent on it",
                expected=f"{bare.label} is open",
                observed="the relay broke the wire on it",
            ) from None
        return bare.session.data_to_send()

    def _cut_off(self, bare: Bare, message: bytes, length: int, what: str) -> None:
        if length >= len(message):
            raise VectorError(f"cut_after is {length}, and the whole message has {len(message)} bytes")
        self._sent(bare, what)
        self._write(bare, message[:length])
        bare.silent = True

    def _write(self, bare: Bare, data: bytes) -> None:
        if bare.closed:
            return
        if self._held is not None:
            self._held.setdefault(bare.label, bytearray()).extend(data)
            return
        bare.sent += data
        pieces: Iterable[bytes] = (data[at : at + 1] for at in range(len(data))) if bare.bytewise else (data,)
        for piece in pieces:
            text = base64.b64encode(piece).decode("ascii")
            self._host.call("connection.write", {"connection": bare.name, "data": text})

    def _sent(self, bare: Bare, what: str) -> None:
        self._host.record(BytesSent(at=self._host.at, step=self._host.step, connection=bare.label, what=what))

    def _await_handshake(self, bare: Bare) -> None:
        """Until it is done, refused or closed. Raises SpecBrokenError if nothing of that happens in time."""
        deadline = time.monotonic() + self._host.patience
        while not (bare.established or bare.closed or self._is_refused(bare)):
            if not self._host.await_more(deadline - time.monotonic()):
                raise SpecBrokenError(
                    f"the relay neither finishes the handshake on {bare.label}, nor refuses the version, nor closes",
                    expected="an answer to the first bytes",
                    observed="silence, or bytes that answer nothing: the history shows what came",
                )

    def _is_refused(self, bare: Bare) -> bool:
        return bare.session is not None and not bare.session.established and bare.silent

    # -- bytes in

    def data(self, call: Call) -> None:
        bare = self._known(call)
        data = base64.b64decode(str(call.params["data"]))
        if bare.session is None:
            self._unexplained(bare, data)
            return
        try:
            events = bare.session.receive_data(data)
        except ConnectionEndedError:
            return
        except WireError as error:
            for event in error.before:
                self._take(bare, event)
            self._unexplained(bare, data)
            return
        for event in events:
            self._take(bare, event)
        self._go_on(bare)

    def closed(self, call: Call) -> None:
        self._closed(self._known(call), str(call.params["how"]))

    def _known(self, call: Call) -> Bare:
        bare = self._by_name.get(str(call.params["connection"]))
        if bare is None:
            raise DriverError(f"there is no connection {call.params['connection']!r}")
        return bare

    def _go_on(self, bare: Bare) -> None:
        """What the handshake has to say next, unless the peer is one that falls silent."""
        if bare.session is not None and not bare.silent:
            self._write(bare, bare.session.data_to_send())

    def _take(self, bare: Bare, event: wire.Event) -> None:
        at, step, label = self._host.at, self._host.step, bare.label
        match event:
            case wire.Established():
                bare.established = True
                self._go_on(bare)
                self._host.see(Established(at=at, step=step, connection=label))
                if bare.kind == "receive":
                    self._host.opened_on(bare)
            case wire.VersionRefused(low, high):
                bare.silent = True
                self._host.see(VersionRefused(at=at, step=step, connection=label, min=low, max=high))
            case wire.FrameReceived(frame):
                self._take_frame(bare, frame)

    def _take_frame(self, bare: Bare, frame: frames.Frame) -> None:
        at, step, label = self._host.at, self._host.step, bare.label
        match frame:
            case frames.Heartbeat():
                self._host.see(HeartbeatCame(at=at, step=step, connection=label))
            case frames.Deliver(blob_id, envelope) if bare.kind == "receive":
                self._host.delivered_on(bare, blob_id, envelope)
            case frames.Ack() if bare.kind == "push":
                self._answered(bare, {"outcome": "ack"}, StrangeFrame(at=at, step=step, connection=label, what="Ack"))
            case frames.Error(reason):
                code = self._code(reason)
                came = ErrorCame(at=at, step=step, connection=label, code=code, body=reason.hex())
                self._answered(bare, {"outcome": "refused", "code": code}, came)
            case _:
                what = f"{type(frame).__name__} frame that no peer asked for"
                self._host.see(StrangeFrame(at=at, step=step, connection=label, what=what))

    def _answered(self, bare: Bare, result: JsonObject, otherwise: Record) -> None:
        push = bare.waiting.popleft() if bare.waiting else None
        if push is None:
            self._host.see(otherwise)
        else:
            self._host.answered(push, result)

    def _code(self, reason: bytes) -> str:
        try:
            return self._profile.code_of_body(reason)
        except ProfileError:
            return "unknown"

    def _unexplained(self, bare: Bare, data: bytes) -> None:
        """What no session explains. A refusal of the version may be all that a stranger is told."""
        if bare.may_be_answered:
            return
        at, step, label = self._host.at, self._host.step, bare.label
        try:
            bounds = version_prefix.decode_refusal(data)
        except WireError:
            bounds = None
        if bounds is not None:
            self._host.see(VersionRefused(at=at, step=step, connection=label, min=bounds[0], max=bounds[1]))
            return
        first = data[:SHOWN_BYTES].hex()
        self._host.see(BytesCame(at=at, step=step, connection=label, size=len(data), first=first))

    def _closed(self, bare: Bare, how: str) -> None:
        if bare.closed:
            return
        bare.closed = how
        for push in bare.waiting:
            if push is not None:
                push.state = State.CUT
        bare.waiting.clear()
        self._host.see(ConnectionClosed(at=self._host.at, step=self._host.step, connection=bare.label, how=how))
        self._host.ended_on(bare)


def _plaintext(argument: Argument) -> bytes:
    """The frame of a `send_frame`: by its type and body, or bytes that need not be a frame."""
    if "plaintext" in argument:
        return bytes.fromhex(argument.text("plaintext"))
    body = bytes.fromhex(argument.text("body", ""))
    kind = argument.text("type")
    types: Mapping[str, int] = {
        "push": frames.PUSH,
        "deliver": frames.DELIVER,
        "heartbeat": frames.HEARTBEAT,
        "ack": frames.ACK,
        "error": frames.ERROR,
        "deliver_ack": frames.DELIVER_ACK,
    }
    number = types.get(kind)
    return frames.encode(frames.UnknownFrame(int(kind, 16) if number is None else number, body))


def _frame_words(argument: Argument, plaintext: bytes) -> str:
    broken = " with a tag that does not hold" if argument.flag("broken") else ""
    if "plaintext" in argument:
        return f"a message of {len(plaintext)} bytes inside{broken}"
    return f"a frame of type {argument.text('type')} with {len(plaintext) - frames.HEADER_BYTES} bytes{broken}"


def _prefix_words(argument: Argument) -> str:
    if "prefix" in argument:
        return f"the prefix 0x{argument.text('prefix')}"
    return f"Transport Version {argument.number('version', 1)}"
