"""The promise that nothing is lost: each new Receive Session is sent all that waits in the inbox.

A relay has the benefit of the doubt: for a blob that an ack may have deleted, for one that may have expired under any
TTL that was in force, while its store fails, and for a session that was over before the relay was quiet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.delivery.life import Killed
from conformance.delivery.relay_records import (
    BlobDelivered,
    DeliverAcked,
    PushAnswered,
    Pushed,
    ReceiveSessionLeft,
    ReceiveSessionOpened,
    SessionEnded,
    Started,
    Stopped,
    StoreSwitched,
)
from conformance.engine.record import Breach, History, Record

DEFAULT_TTL = 30 * 24 * 60 * 60 * 1000


def what_waits_is_delivered(history: History) -> Iterator[Breach]:
    """RLY-005: a new Receive Session is sent each blob that was accepted and neither acked nor expired.

    The clause is the one that tells best what went before: RLY-001, RLY-020, RLY-021, RLY-029 or RLY-005.
    """
    names = _names(history)
    inboxes = _Inboxes(names)
    for position, record in enumerate(history):
        inboxes.follow(record)
        if isinstance(record, ReceiveSessionOpened) and not inboxes.failing and _has_time(history, position):
            came = _came(history, record.session)
            for blob in inboxes.waiting(record):
                if blob.label not in came:
                    yield Breach(blob.clause, _words(blob, record), record)


@dataclass(slots=True)
class _Waiting:
    """A blob that was accepted. `clause` is broken if a new session is not sent it."""

    label: str
    device: str
    at: int
    clause: str = "RLY-029"


@dataclass(slots=True)
class _Inboxes:
    """What surely waits, followed through the history. `names` are the ids that each blob has or will have."""

    names: dict[str, set[str]]
    failing: bool = False
    _ttl: int = DEFAULT_TTL
    _pushed: dict[int, Pushed] = field(default_factory=dict)
    _stored: dict[str, _Waiting] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)

    def follow(self, record: Record) -> None:
        match record:
            case Pushed():
                self._pushed[record.push] = record
            case PushAnswered(code=""):
                self._store(self._pushed[record.push])
            case DeliverAcked(lost=False, late=False):
                self._delete(record)
            case StoreSwitched():
                self.failing = record.failing
            case _:
                self._follow_life(record)

    def _follow_life(self, record: Record) -> None:
        match record:
            case Started():
                self.failing = False
                ttl = record.settings.get("ttl")
                self._ttl = min(self._ttl, ttl) if isinstance(ttl, int) else self._ttl
            case Killed():
                self._relay_went("RLY-001")
            case Stopped():
                self._relay_went("RLY-021")
            case ReceiveSessionLeft() | SessionEnded():
                self._open.pop(record.session, None)

    def waiting(self, opened: ReceiveSessionOpened) -> Iterator[_Waiting]:
        """What this new session must be sent, each with the clause that says so."""
        shared = opened.device in self._open.values()
        for blob in self._stored.values():
            if blob.device == opened.device:
                blob.clause = "RLY-020" if shared else blob.clause
                if opened.at - blob.at < self._ttl:
                    yield blob
                blob.clause = "RLY-005"
        self._open[opened.session] = opened.device

    def _store(self, push: Pushed) -> None:
        first_visit = not any(device == push.recipient for device in self._open.values())
        clause = "RLY-029" if first_visit else "RLY-005"
        self._stored[push.label] = _Waiting(push.label, push.recipient, push.at, clause)

    def _delete(self, ack: DeliverAcked) -> None:
        """Whatever this ack may have deleted is not demanded any more."""
        for label, blob in list(self._stored.items()):
            if blob.device == ack.device and ack.blob_id in self.names.get(label, ()):
                del self._stored[label]

    def _relay_went(self, clause: str) -> None:
        self._open.clear()
        for blob in self._stored.values():
            blob.clause = clause


def _names(history: History) -> dict[str, set[str]]:
    """Every id that each blob was given, by its label."""
    found: dict[str, set[str]] = {}
    for record in history:
        if isinstance(record, BlobDelivered):
            found.setdefault(record.label, set()).add(record.blob_id)
    return found


def _came(history: History, session: str) -> set[str]:
    return {record.label for record in history if isinstance(record, BlobDelivered) and record.session == session}


def _has_time(history: History, position: int) -> bool:
    """Whether the relay was quiet once between the opening at this position and the end of that session."""
    opened = history[position]
    for record in history[position + 1 :]:
        if isinstance(record, Killed):
            return record.settled > position
        if isinstance(record, Stopped):
            return True
        if isinstance(record, ReceiveSessionLeft | SessionEnded) and _session(record) == _session(opened):
            return isinstance(record, ReceiveSessionLeft)
    return True


def _session(record: Record) -> str:
    return record.session if isinstance(record, ReceiveSessionOpened | ReceiveSessionLeft | SessionEnded) else ""


def _words(blob: _Waiting, opened: ReceiveSessionOpened) -> str:
    return (
        f"{blob.label} was accepted for {blob.device} and is neither acked nor expired, "
        f"and the new Receive Session {opened.session} is not sent it"
    )
