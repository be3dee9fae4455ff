"""What can happen between the kit and a device under test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from conformance.delivery.life import EPOCH
from conformance.durations import by_words
from conformance.engine.record import Record
from conformance.printable import flow
from reference_impl.wire.content import Tag
from reference_impl.wire.json_types import Json

ALICE = "alice"
RELAY = "relay"
APP = "app"
NETWORK = "network"


def tag_name(tag: int) -> str:
    try:
        return Tag(tag).name.replace("_", " ").title().replace(" ", "")
    except ValueError:
        return f"tag {tag}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Record):
    """The device was opened on its data folder."""

    SOURCE: ClassVar[str] = APP
    TARGET: ClassVar[str] = ALICE

    again: bool

    def describe(self) -> str:
        return "open() on the same data folder" if self.again else "open()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Record):
    """The relay came into reach or went out of it."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = ALICE

    up: bool

    def describe(self) -> str:
        return "the relay is in reach" if self.up else "the connection is lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Record):
    """The app calls the device's API."""

    SOURCE: ClassVar[str] = APP
    TARGET: ClassVar[str] = ALICE

    method: str
    argument: str = ""

    def describe(self) -> str:
        return f"{self.method}({self.argument})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(Record):
    """A call failed with one of the spec's errors."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = APP

    method: str
    failure: str

    def describe(self) -> str:
        return f"{self.method}() fails: {self.failure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReturned(Record):
    """`send()` returned a Message ID. One that failed or was cut off by a crash leaves no such record.

    `recipients` are other members at that moment whom the device surely knows as such.
    """

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = APP

    label: str
    body: bytes
    message_id: str
    recipients: tuple[str, ...]

    def describe(self) -> str:
        return f"send({self.label}) returns its Message ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened(Record):
    """The device asked for a Receive Session. `outcome` is what the relay answered."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = RELAY

    session: str
    outcome: str

    def describe(self) -> str:
        return f"opens a Receive Session: {self.outcome} {self.session}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed(Record):
    """The device pushed an Envelope. Times in it are Unix ms; `body` is what the recipient reads.

    `control` says in words what a control message is, `departing` is the status of a device on its way out, `group_id`
    the group that a Group Manifest is of. `extra` is what else the relay could read, by name.
    """

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = RELAY

    push: int
    message_id: str
    recipient: str
    author_pub: str
    sequence: int
    sender_timestamp: int
    tag: int
    body: bytes
    version: int
    ephemeral_pub: str
    extra: Mapping[str, Json]
    problem: str = ""
    control: str = ""
    departing: str = ""
    group_id: str = ""

    def describe(self) -> str:
        if self.problem:
            return f"Push to {self.recipient} that nobody can read: {self.problem}"
        if self.tag != Tag.SYNC:
            stamp = by_words(self.sender_timestamp - EPOCH)
            return f"Push to {self.recipient}: {self.control or tag_name(self.tag)}, stamped {stamp} after the start"
        departing = f", while the device is {self.departing}" if self.departing else ""
        return (
            f"Push to {self.recipient}: {tag_name(self.tag)} {self.message_id}, "
            f"Sequence {self.sequence}, {len(self.body)} bytes{departing}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PushAnswered(Record):
    """The relay answered a push, or its session was lost. `outcome` as in the protocol, `code` of a refusal."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = ALICE

    push: int
    message_id: str
    recipient: str
    outcome: str
    code: str = ""

    def describe(self) -> str:
        answer = (
            f"refuses, {self.code}"
            if self.code
            else {"ack": "Ack", "lost": "no answer, lost"}.get(self.outcome, self.outcome)
        )
        return f"{answer}: {self.message_id} to {self.recipient}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered(Record):
    """The relay sent a blob. `usable` is False for what the device must drop or hold, `newer` True for the latter."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = ALICE

    label: str
    blob_id: str
    session: str
    sender: str
    message_id: str
    tag: int
    sequence: int
    body: bytes
    usable: bool
    newer: bool
    group_id: str = ""

    def describe(self) -> str:
        return f"Deliver {self.label} (blob {self.blob_id}, from {self.sender}) on {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff(Record):
    """The relay began to send a blob, and the connection ended within its message, after `size` bytes."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = ALICE

    label: str
    size: int

    def describe(self) -> str:
        return f"Deliver {self.label} is cut off after {self.size} bytes, and the connection with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayKey(Record):
    """Which key the relay proves from now on."""

    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = ALICE

    right: bool

    def describe(self) -> str:
        return f"proves {'the key of its address' if self.right else 'another key'} from now on"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerCalled(Record):
    """The device called the app's handler."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = APP

    call: int
    message_id: str
    sender_name: str
    sender_id: str
    body: bytes

    def describe(self) -> str:
        return f"handler({self.message_id}, from {self.sender_name}, {len(self.body)} bytes)"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerEnded(Record):
    SOURCE: ClassVar[str] = APP
    TARGET: ClassVar[str] = ALICE

    call: int
    message_id: str
    threw: bool

    def describe(self) -> str:
        return f"handler {'throws' if self.threw else 'returns'}: {self.message_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverAcked(Record):
    """The device sent DeliverAck. `label` is empty for a blob that it never got; `lost` if it did not arrive."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = RELAY

    label: str
    blob_id: str
    session: str
    message_id: str
    extra: Mapping[str, Json]
    lost: bool

    def describe(self) -> str:
        what = self.label or "a blob that was never delivered"
        return f"DeliverAck {what} (blob {self.blob_id}){', lost on the way' if self.lost else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRaised(Record):
    """A delivery issue, with the fields of the protocol."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = APP

    case: str
    details: Mapping[str, Json]

    def describe(self) -> str:
        return f"issue {self.case}({words(self.details)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRaised(Record):
    """An event. `peer` is who a join request came from, as far as the kit knows."""

    SOURCE: ClassVar[str] = ALICE
    TARGET: ClassVar[str] = APP

    case: str
    details: Mapping[str, Json]
    peer: str = ""

    def describe(self) -> str:
        return f"event {self.case}({words(self.details)})"


def words(details: Mapping[str, Json]) -> str:
    return ", ".join(f"{name}: {flow(value)}" for name, value in details.items() if name != "case")


def may_abandon(record: Record) -> bool:
    """A device that leaves or destroys drops what waits, without a word (CTL-005)."""
    if isinstance(record, Called):
        return record.method in ("leave", "destroy_group")
    if isinstance(record, Delivered):
        return record.tag == Tag.REVOKE
    return isinstance(record, EventRaised) and record.details.get("status") in ("leaving", "destroying")


def is_wipe(record: Record) -> bool:
    return isinstance(record, EventRaised) and record.details.get("status") == "notJoined"
