"""The Outbox: one lane per recipient, in Sequence order, until the relay has taken each entry.

Per entry: Queued → InFlight → Delivered (deleted) | Queued (retry) | Failed (deleted).
Only Queued is durable: an entry that was in flight when the process died is found Queued again (SND-022).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from reference_impl.device.backoff import Backoff
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.context import Context
from reference_impl.device.effects import (
    Accepted,
    Lost,
    Push,
    PushAnswer,
    Refused,
    SendFailed,
    Undeliverable,
    Unsupported,
)
from reference_impl.device.notices import Notices
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.wire.content import Tag
from reference_impl.wire.json_types import Json

KEY_BYTES = 32
PERMANENT_REFUSALS: Final[dict[str, Undeliverable]] = {"too_large": "tooLarge", "malformed": "malformed"}
TAGS: Final[dict[Kind, Tag]] = {
    "sync": Tag.SYNC,
    "pair": Tag.PAIR,
    "manifest": Tag.GROUP_MANIFEST,
    "leave": Tag.GROUP_MANIFEST,
    "revoke": Tag.REVOKE,
}

EntryKey = tuple[int, str]


class Departure(Protocol):
    """What has to happen once a device that leaves or destroys has nothing left to push."""

    def completes_with(self, remaining: int) -> bool: ...

    def wipe(self) -> None: ...

    def announce(self) -> None: ...


@dataclass(slots=True)
class Lane:
    """What waits for one recipient. `in_flight` is the number of the push without an answer."""

    backoff: Backoff
    entries: deque[OutboxEntry] = field(default_factory=deque)
    in_flight: int | None = None
    retry_at: int | None = None


class Outbox:
    """Pushes what is durable, deletes what was taken or given up, and keeps each lane in order."""

    backoff_class: type[Backoff] = Backoff

    def __init__(self, context: Context, state: SessionState, notices: Notices, connection: ConnectionTracker) -> None:
        self._context = context
        self._state = state
        self._notices = notices
        self._connection = connection
        self._departure: Departure | None = None
        self._live: dict[EntryKey, OutboxEntry] = {}
        self._lanes: dict[str, Lane] = {}
        self._pushed: dict[int, OutboxEntry] = {}
        self._expiries: list[tuple[int, int, str]] = []

    def set_departure(self, departure: Departure) -> None:
        self._departure = departure

    def load(self) -> None:
        """Take over what an earlier run left, as Queued (SND-022)."""
        self.queue(self._context.store.outbox())

    # Adding entries

    def stage(self, kind: Kind, recipients: Iterable[str], body: bytes, sequence: int) -> list[OutboxEntry]:
        """Write one entry per recipient. Inside a transaction; hand the result to `queue` after it."""
        message_id = self._state.message_id(sequence)
        entries = [
            OutboxEntry(sequence, recipient, message_id, kind, body, self._context.now) for recipient in recipients
        ]
        for entry in entries:
            self._context.store.add_entry(entry)
        return entries

    def queue(self, entries: Iterable[OutboxEntry]) -> None:
        """Put entries that are durable into their lanes. Nothing is pushed before `pump`."""
        for entry in entries:
            self._live[_key(entry)] = entry
            self._lane(entry.recipient).entries.append(entry)
            expires_at = self.expires_at(entry)
            if expires_at is not None:
                heapq.heappush(self._expiries, (expires_at, *_key(entry)))

    def send(self, kind: Kind, recipients: Iterable[str], body: bytes) -> list[OutboxEntry]:
        """Stage a message under the next Sequence. Inside a transaction."""
        return self.stage(kind, recipients, body, self._state.take_sequence())

    def unsent(self) -> list[OutboxEntry]:
        return list(self._live.values())

    def discard(self, kinds: frozenset[Kind]) -> list[OutboxEntry]:
        """Delete the entries of these kinds, without an issue (CTL-005). Inside a transaction.

        Returns them, for `forget` after the transaction.
        """
        gone = [entry for entry in self._live.values() if entry.kind in kinds]
        for entry in gone:
            self._context.store.remove_entry(entry.sequence, entry.recipient)
        return gone

    def forget(self, entries: Iterable[OutboxEntry]) -> None:
        """Drop from memory what is no longer durable, in flight or not."""
        for entry in entries:
            self._live.pop(_key(entry), None)
            lane = self._lane(entry.recipient)
            if lane.in_flight is not None and self._pushed.get(lane.in_flight) == entry:
                del self._pushed[lane.in_flight]
                lane.in_flight = None
            if self.head(lane) is None:
                lane.retry_at = None

    def forget_everything(self) -> None:
        """After a wipe. Answers that are still to come find no push of theirs."""
        self._live.clear()
        self._lanes.clear()
        self._pushed.clear()
        self._expiries.clear()

    # Pushing

    def pump(self) -> None:
        """Push what may go out now, in every lane."""
        for lane in list(self._lanes.values()):
            self.pump_lane(lane)

    def pump_lane(self, lane: Lane) -> None:
        entry = self.next_entry(lane)
        if entry is not None:
            self.push(lane, entry)

    def next_entry(self, lane: Lane) -> OutboxEntry | None:
        """The entry to push now: the head of the lane, or nothing while the lane is blocked (SND-013)."""
        if not self._connection.usable or self.is_blocked(lane):
            return None
        return self.head(lane)

    def is_blocked(self, lane: Lane) -> bool:
        """A push without an answer, or a head that waits for its retry, holds back all behind it (SND-013).

        Per recipient only: no other lane is asked (SND-014).
        """
        return lane.in_flight is not None or (lane.retry_at is not None and lane.retry_at > self._context.now)

    def head(self, lane: Lane) -> OutboxEntry | None:
        """The first entry of the lane that is still to be delivered."""
        while lane.entries and _key(lane.entries[0]) not in self._live:
            lane.entries.popleft()
        return lane.entries[0] if lane.entries else None

    def push(self, lane: Lane, entry: OutboxEntry) -> None:
        request = self._context.next_request()
        lane.in_flight, lane.retry_at = request, None
        self._pushed[request] = entry
        self._context.emit(Push(request, entry.recipient, self.seal(entry), self._context.transport_version))

    def seal(self, entry: OutboxEntry) -> Json:
        """Every push is sealed anew, under the version of this build (SND-021) and a fresh key (MTA-002)."""
        content = self._state.content(entry.sequence, self.sender_timestamp(entry), int(TAGS[entry.kind]), entry.body)
        return self._context.codec.seal(
            content, self._context.end_to_end_version, entry.recipient, self.fresh_ephemeral()
        )

    def fresh_ephemeral(self) -> str:
        return self._context.random_bytes(KEY_BYTES).hex()

    def sender_timestamp(self, entry: OutboxEntry) -> int:
        """A Sync message keeps the time of its `send()` (SND-018), a control message gets that of its seal."""
        return entry.sent_at if entry.kind == "sync" else self._context.now

    # Answers

    def answered(self, request: int, answer: PushAnswer) -> None:
        """The answer to a push. One for an entry that is gone by now changes nothing."""
        entry = self._pushed.pop(request, None)
        if entry is None:
            return
        lane = self._lane(entry.recipient)
        lane.in_flight = None
        match answer:
            case Accepted():
                self.delivered(lane, entry)
            case Refused(code=code):
                self.refused(lane, entry, code)
            case Lost():
                self.requeue(lane)
            case Unsupported(minimum=minimum, maximum=maximum):
                self._connection.unsupported(minimum, maximum)

    def delivered(self, lane: Lane, entry: OutboxEntry) -> None:
        """Delivered with the relay's ack and not before: delete the entry (SND-007)."""
        self.remove([entry])
        lane.backoff.reset()  # SND-012
        self.pump()

    def refused(self, lane: Lane, entry: OutboxEntry, code: str) -> None:
        """A permanent refusal fails the entry (SND-015), any other requeues it without a word (SND-009)."""
        reason = self.permanent_reason(code)
        if reason is None:
            self.requeue(lane)
        else:
            self.fail([entry], reason)
            self.pump()

    def permanent_reason(self, code: str) -> Undeliverable | None:
        return PERMANENT_REFUSALS.get(code)

    def requeue(self, lane: Lane) -> None:
        """Back to Queued, tried again with the same message after the backoff (SND-008, SND-011)."""
        lane.retry_at = self._context.now + lane.backoff.next_delay()

    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        """Delete the entries and say so, once each (SND-015, SND-016, SND-024)."""
        self.remove(entries)
        for entry in entries:
            self._notices.issue(SendFailed(entry.message_id, reason))

    def remove(self, entries: list[OutboxEntry]) -> None:
        """Delete entries for good. Where that ends a leave or a destroy, the wipe is in the same commit."""
        departure = self._departure
        ends = departure is not None and departure.completes_with(len(self._live) - len(entries))
        with self._context.store.transaction():
            for entry in entries:
                self._context.store.remove_entry(entry.sequence, entry.recipient)
            if departure is not None and ends:
                departure.wipe()
        self.forget(entries)
        if departure is not None and ends:
            departure.announce()

    # Connection and time

    def connected(self) -> None:
        """On reconnect everything queued goes out at once, whatever the backoff had reached (SND-010)."""
        for lane in self._lanes.values():
            lane.retry_at = None
            lane.backoff.reset()
        self.pump()

    def disconnected(self) -> None:
        """What had no answer is Queued again (SND-008)."""
        self._pushed.clear()
        for lane in self._lanes.values():
            lane.in_flight = lane.retry_at = None

    def tick(self) -> None:
        """Give up what is too old, then retry what is due."""
        self.expire()
        if self._connection.usable:
            self.pump()

    def expire(self) -> None:
        """Remove what waited too long, connected or not (SND-016)."""
        expired: list[OutboxEntry] = []
        while self._expiries and self.is_expired(self._expiries[0][0]):
            _, sequence, recipient = heapq.heappop(self._expiries)
            entry = self._live.get((sequence, recipient))
            if entry is not None:
                expired.append(entry)
        if expired:
            self.fail(expired, "expired")

    def expires_at(self, entry: OutboxEntry) -> int | None:
        """Counted from `send()`, for Sync alone: Pair, Group Manifest, Leave and Revoke stay (SND-017)."""
        return entry.sent_at + self._context.limits.outbox_expiry if entry.kind == "sync" else None

    def is_expired(self, expires_at: int) -> bool:
        """At exactly 30 days both are legal; this one gives up."""
        return self._context.now >= expires_at

    def next_timer(self) -> int | None:
        """The earliest retry or expiry, in Unix ms."""
        while self._expiries and self._expiries[0][1:] not in self._live:
            heapq.heappop(self._expiries)
        moments = [self._expiries[0][0]] if self._expiries else []
        if self._connection.usable:
            moments += [lane.retry_at for lane in self._lanes.values() if lane.retry_at is not None]
        return min(moments, default=None)

    def _lane(self, recipient: str) -> Lane:
        lane = self._lanes.get(recipient)
        if lane is None:
            lane = self._lanes[recipient] = Lane(self.make_backoff())
        return lane

    def make_backoff(self) -> Backoff:
        limits = self._context.limits
        return self.backoff_class(limits.push_backoff_first, limits.push_backoff_factor, limits.push_backoff_max)


def _key(entry: OutboxEntry) -> EntryKey:
    return entry.sequence, entry.recipient
