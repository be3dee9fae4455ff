"""What can happen between the kit and a relay under test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from conformance.engine.record import Record
from reference_impl.wire.json_types import Json

RELAY = "relay"
SENDER = "a sender"
"""Who pushes: a Push Session is anonymous, so there is no name to give."""
NOBODY = "nobody"


def byte_words(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Record):
    """The relay was opened on its data folder. `refused` names the setting it would not start with, if any."""

    TARGET: ClassVar[str] = RELAY

    again: bool
    settings: Mapping[str, Json]
    refused: str = ""

    def describe(self) -> str:
        where = "starts again on the same data folder" if self.again else "starts"
        how = ", ".join(f"{name}: {value}" for name, value in self.settings.items())
        refusal = f"; it refuses to, because of {self.refused}" if self.refused else ""
        return f"{where}{' with ' + how if how else ''}{refusal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Record):
    """A polite stop. Every session ends with it."""

    TARGET: ClassVar[str] = RELAY

    def describe(self) -> str:
        return "polite stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSwitched(Record):
    """From now on the relay's store fails, or works again."""

    TARGET: ClassVar[str] = RELAY

    failing: bool

    def describe(self) -> str:
        return "from now on no durable write succeeds" if self.failing else "durable writes succeed again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashArmed(Record):
    """The relay's process will die right before or right after its n-th durable write from now."""

    TARGET: ClassVar[str] = RELAY

    write: int
    when: str

    def describe(self) -> str:
        return f"will die {self.when} its durable write number {self.write} from now"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveSessionOpened(Record):
    TARGET: ClassVar[str] = RELAY

    session: str
    device: str

    @property
    def source(self) -> str:
        return self.device

    def describe(self) -> str:
        return f"opens the Receive Session {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveSessionLeft(Record):
    """The device ended its Receive Session."""

    TARGET: ClassVar[str] = RELAY

    session: str
    device: str

    @property
    def source(self) -> str:
        return self.device

    def describe(self) -> str:
        return f"closes the Receive Session {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded(Record):
    """The relay ended a session by itself. `device` is empty for a Push Session."""

    SOURCE: ClassVar[str] = RELAY

    session: str
    device: str

    @property
    def target(self) -> str:
        return self.device or SENDER

    def describe(self) -> str:
        return f"ends the {'Receive' if self.device else 'Push'} Session {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed(Record):
    """A push was sent. `recipient` is empty where the body is too short to name one; `size` is in bytes.

    `push` counts the pushes of the run, `session` is the Push Session.
    """

    SOURCE: ClassVar[str] = SENDER
    TARGET: ClassVar[str] = RELAY

    push: int
    label: str
    session: str
    recipient: str
    size: int

    def describe(self) -> str:
        if not self.recipient:
            return f"Push {self.label} on {self.session}: a body of {byte_words(self.size)} that names no recipient"
        return f"Push {self.label} to {self.recipient} on {self.session}, an envelope of {byte_words(self.size)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushAnswered(Record):
    """The relay answered a push: `ack`, or `refused` with a code. `extra` is what else it said."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = SENDER

    push: int
    label: str
    session: str
    outcome: str
    code: str
    extra: Mapping[str, Json]

    def describe(self) -> str:
        if self.outcome == "ack":
            return f"Ack: {self.label}"
        return f"Error {self.code}: {self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobDelivered(Record):
    """The relay sent a blob.

    `label` is the push it came from, empty if it is none that was pushed, and then `mismatch` says how it differs.
    `owner` is whom that push was for, `device` whose session it came on. `problem` says what is wrong with that
    session: `unknown`, `left` by the device, `ended` by the relay, `gone` with it; empty for one that is open.
    """

    SOURCE: ClassVar[str] = RELAY

    label: str
    owner: str
    session: str
    device: str
    blob_id: str
    size: int
    mismatch: str = ""
    problem: str = ""

    @property
    def target(self) -> str:
        return self.device or NOBODY

    def describe(self) -> str:
        what = self.label or f"{byte_words(self.size)} that nobody pushed"
        return f"Deliver {what} (blob {self.blob_id}) on {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverAcked(Record):
    """A device sent DeliverAck.

    `label` is empty for an id that nobody has. `valid` if that id was given to this blob on this very session.
    `lost` if there was no session left to send it on, `late` if the device had closed that session before.
    """

    TARGET: ClassVar[str] = RELAY

    label: str
    blob_id: str
    session: str
    device: str
    valid: bool
    lost: bool
    late: bool = False

    @property
    def source(self) -> str:
        return self.device

    def describe(self) -> str:
        what = f"{self.label} (blob {self.blob_id})" if self.label else f"blob {self.blob_id}, an id that nobody has"
        lost = ", lost: the relay has ended that session" if self.lost else ""
        late = ", which is closed" if self.late else ""
        return f"DeliverAck {what} on {self.session}{lost}{late}"
