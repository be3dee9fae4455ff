"""What can happen on a bare connection to a relay: below the sessions, where only sockets show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.delivery.relay_records import RELAY
from conformance.engine.record import Record

PEER = "a peer"
"""Who holds a bare connection: it may never say who it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnConnection(Record):
    """Something on a connection, by its label."""

    SOURCE: ClassVar[str] = PEER
    TARGET: ClassVar[str] = RELAY

    connection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected(OnConnection):
    """`kind` is the listener, `how` in words what is sent first."""

    kind: str
    how: str

    def describe(self) -> str:
        return f"connects to {self.kind} as {self.connection}: {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesSent(OnConnection):
    what: str

    def describe(self) -> str:
        return f"sends {self.what} on {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPaused(OnConnection):
    def describe(self) -> str:
        return f"reads nothing more from {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected(OnConnection):
    """By the peer: `fin`, `reset`, or `vanish`, which the relay is not told of."""

    how: str

    def describe(self) -> str:
        words = {"fin": "ends its side of", "reset": "resets", "vanish": "vanishes, without a word on"}
        return f"{words[self.how]} {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FromRelay(OnConnection):
    SOURCE: ClassVar[str] = RELAY
    TARGET: ClassVar[str] = PEER


@dataclass(frozen=True, slots=True, kw_only=True)
class Established(FromRelay):
    """The handshake is done."""

    def describe(self) -> str:
        return f"finishes the handshake on {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRefused(FromRelay):
    """`unsupported MIN..MAX` in plain text."""

    min: int
    max: int

    def describe(self) -> str:
        return f"answers unsupported {self.min}..{self.max} on {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCame(FromRelay):
    """An Error frame that answers no push. `code` as the wire profile names it, `body` as hex."""

    code: str
    body: str

    def describe(self) -> str:
        return f"Error {self.code} on {self.connection}, body 0x{self.body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatCame(FromRelay):
    def describe(self) -> str:
        return f"Heartbeat on {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangeFrame(FromRelay):
    """A frame that a relay has no reason to send. `what` in words."""

    what: str

    def describe(self) -> str:
        return f"{self.what} on {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesCame(FromRelay):
    """Bytes that are no message of this session; `first` are the first of them, as hex."""

    size: int
    first: str

    def describe(self) -> str:
        return f"{self.size} bytes that no session explains on {self.connection}, beginning with 0x{self.first}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionClosed(FromRelay):
    """By the relay, with `fin` or `reset`, or `refused` where it was never accepted."""

    how: str

    def describe(self) -> str:
        return f"closes {self.connection} ({self.how})"
