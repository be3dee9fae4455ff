"""One session of a device that the kit plays, on the wire: frames to messages of the driver protocol."""

from __future__ import annotations

import base64
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from conformance.drivers.channel import Channel
from conformance.messages import notification, response
from conformance.outcome import NotRunError, SpecBrokenError
from reference_impl.wire.connection import Connection, Event, FrameReceived, Kind, VersionRefused
from reference_impl.wire.errors import ProfileError, WireError
from reference_impl.wire.frames import (
    MAX_BODY,
    PUSH,
    Ack,
    Deliver,
    DeliverAck,
    Error,
    Frame,
    Heartbeat,
    MalformedFrame,
    Push,
    UnknownFrame,
)
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.profile import WireProfile

KIND_WORDS = {"receive": "Receive Session", "push": "Push Session"}


@dataclass(slots=True)
class RelaySession:
    """A session, from its connection on. `opening` is the request that waits for the handshake.

    `unanswered` are the pushes that the relay has not answered, as request and body, and `has_answered` says whether it
    ever answered one; `echoes` are the heartbeats that it has not sent back. `is_over` once either side has ended it.
    `is_known`: the kit has its name.
    """

    name: str
    kind: Kind
    channel: Channel
    connection: Connection
    profile: WireProfile
    opening: int | None = None
    unanswered: deque[tuple[int, bytes]] = field(default_factory=deque)
    has_answered: bool = False
    echoes: int = 0
    is_over: bool = False
    is_known: bool = True
    since: float = field(default_factory=time.monotonic)

    @property
    def is_open(self) -> bool:
        return self.connection.established and not self.is_over

    def read(self, data: bytes, tell: Callable[[JsonObject], None]) -> None:
        """Tell the kit what these bytes from the relay mean.

        Raises WireError for bytes that break the wire, SpecBrokenError for frames that have no business here.
        """
        events: Sequence[Event]
        try:
            events = self.connection.receive_data(data)
        except WireError as error:
            self._tell(error.before, tell)
            raise
        finally:
            self.flush()
        self._tell(events, tell)

    def _tell(self, events: Sequence[Event], tell: Callable[[JsonObject], None]) -> None:
        for event in events:
            for message in self._told(event):
                tell(message)

    def send(self, frame: Frame) -> None:
        self.connection.send(frame)
        self.flush()

    def flush(self) -> None:
        self.channel.write(self.connection.data_to_send())

    def push(self, number: int, body: bytes) -> None:
        """Send a Push frame with this body, whatever it holds, once the handshake is done.

        Raises NotRunError if no frame can hold it.
        """
        if len(body) > MAX_BODY:
            raise NotRunError(
                f"a Push of {len(body)} bytes fits in no Noise message, so that it cannot be sent on a socket"
            )
        self.unanswered.append((number, body))
        if self.is_open:
            self.send(UnknownFrame(PUSH, body))

    def beat(self) -> None:
        self.echoes += 1
        self.send(Heartbeat())

    def answer_opening(self) -> list[JsonObject]:
        """The answer to whoever opened it, once."""
        number, self.opening = self.opening, None
        return [] if number is None else [response(number, {"session": self.name})]

    def _told(self, event: Event) -> list[JsonObject]:
        if isinstance(event, FrameReceived):
            return self._received(event.frame)
        if isinstance(event, VersionRefused):
            raise SpecBrokenError(
                f"the relay refuses Transport Version 1 and says that it speaks {event.min} to {event.max}"
            )
        for _, body in self.unanswered:
            self.send(UnknownFrame(PUSH, body))
        return self.answer_opening()

    def _received(self, frame: Frame) -> list[JsonObject]:
        match frame:
            case Heartbeat():
                return self._heard_heartbeat()
            case Deliver() if self.kind == "receive":
                envelope = base64.b64encode(frame.envelope).decode("ascii")
                blob: JsonObject = {"session": self.name, "blob_id": str(frame.blob_id), "envelope": envelope}
                return [notification("deliver", blob)]
            case Ack() | Error() if self.kind == "push":
                return [self._answered(frame)]
            case Error() | UnknownFrame():
                return []  # nothing that the kit sent, or nothing that a device of today knows
            case Ack() | Deliver() | DeliverAck() | Push() | MalformedFrame():
                raise SpecBrokenError(f"the relay sends {_frame_words(frame)} on a {KIND_WORDS[self.kind]}")

    def _heard_heartbeat(self) -> list[JsonObject]:
        if self.echoes:
            self.echoes -= 1
        elif self.profile.heartbeats_begun_by == "either":
            self.send(Heartbeat())
        return []

    def _answered(self, frame: Ack | Error) -> JsonObject:
        if not self.unanswered:
            raise SpecBrokenError(
                f"the relay sends {_frame_words(frame)} on a Push Session whose pushes are all answered",
                expected="one answer for each push",
                observed="one more",
                clause="RLY-013",
            )
        number, _ = self.unanswered.popleft()
        self.has_answered = True
        return response(number, {"outcome": "ack"} if isinstance(frame, Ack) else _refusal(self.profile, frame.reason))


def _refusal(profile: WireProfile, reason: bytes) -> JsonObject:
    """A refusal with the code that its one byte tells; what follows is content (RLY-012)."""
    try:
        code = profile.code_of_body(reason[:1]) if profile.reasons else "untyped"
    except ProfileError:
        code = "unknown"
    content: JsonObject = {"content": reason[1:].hex()} if len(reason) > 1 else {}
    return {"outcome": "refused", "code": code, **content}


def _frame_words(frame: Frame) -> str:
    if isinstance(frame, MalformedFrame):
        return f"a frame of type 0x{frame.type:02x} with a body of {len(frame.body)} bytes"
    return f"a frame {type(frame).__name__}"
