"""What a Device asks of the world around it, and what it tells its app.

The shell carries each effect out, in the order given. Requests carry a number; the answer comes back with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reference_impl.wire.content import Member
from reference_impl.wire.json_types import Json

ConnectionState = Literal["connecting", "connected", "disconnected", "relayVersionUnsupported"]
Reason = Literal["created", "joined", "left", "removed", "destroyed"]
Status = Literal["notJoined", "pendingJoin", "member", "leaving", "destroying"]
Unusable = Literal["malformed", "senderOutdated", "expired", "droppedWhileHeld"]
Undeliverable = Literal["tooLarge", "malformed", "expired"]


@dataclass(frozen=True, slots=True)
class Message:
    """What the handler gets (RCV-006): `sender.signing_pub` is the id in `members`."""

    id: str
    sender: Member
    body: bytes


@dataclass(frozen=True, slots=True)
class Connection:
    """`minimum` and `maximum` are set with `relayVersionUnsupported` only."""

    state: ConnectionState
    minimum: int = 0
    maximum: int = 0


@dataclass(frozen=True, slots=True)
class Unreadable:
    reason: Unusable


@dataclass(frozen=True, slots=True)
class Unauthorized:
    pass


@dataclass(frozen=True, slots=True)
class HeldForUpgrade:
    version: int


@dataclass(frozen=True, slots=True)
class HandlerGaveUp:
    message_id: str
    error: str


@dataclass(frozen=True, slots=True)
class SendFailed:
    message_id: str
    reason: Undeliverable


Issue = Unreadable | Unauthorized | HeldForUpgrade | HandlerGaveUp | SendFailed
"""Delivery Issues: they stay on the device (RCV-015)."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    status: Status
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class MembersChanged:
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class JoinRequest:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ConnectionChanged:
    connection: Connection


Event = StatusChanged | MembersChanged | JoinRequest | ConnectionChanged


@dataclass(frozen=True, slots=True)
class OpenReceiveSession:
    """Answered with a `SessionAnswer`."""

    request: int
    device: str
    transport_version: int


@dataclass(frozen=True, slots=True)
class Push:
    """Answered with a `PushAnswer`."""

    request: int
    recipient: str
    envelope: Json
    transport_version: int


@dataclass(frozen=True, slots=True)
class DeliverAck:
    """The blob id and nothing else (MTA-001)."""

    session: str
    blob_id: str


@dataclass(frozen=True, slots=True)
class CallHandler:
    """Answered with None once the handler returned, or with the error it threw."""

    request: int
    message: Message


@dataclass(frozen=True, slots=True)
class NotifyIssue:
    issue: Issue


@dataclass(frozen=True, slots=True)
class NotifyEvent:
    event: Event


Effect = OpenReceiveSession | Push | DeliverAck | CallHandler | NotifyIssue | NotifyEvent


@dataclass(frozen=True, slots=True)
class Accepted:
    """The relay stored the blob durably."""


@dataclass(frozen=True, slots=True)
class Refused:
    code: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection went before an answer."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The relay does not speak this Transport Version, but `minimum` to `maximum` (SND-020)."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Opened:
    session: str


PushAnswer = Accepted | Refused | Lost | Unsupported
SessionAnswer = Opened | Lost | Unsupported
