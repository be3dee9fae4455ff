"""Devices that send wrongly: the outbox, the calls, the order, refusals, versions, identity (SND, MTA-002)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from adapters.deviation import Mutant, with_outbox
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.device import Device, DeviceStatus
from reference_impl.device.effects import (
    Accepted,
    Lost,
    PushAnswer,
    SendFailed,
    SessionAnswer,
    Undeliverable,
    Unsupported,
)
from reference_impl.device.errors import ApiError, not_member, payload_too_large
from reference_impl.device.membership import Membership
from reference_impl.device.outbox import Lane, Outbox
from reference_impl.device.pairing import Pairing
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.wire.json_types import Json
from reference_impl.wire.message_id import message_id

# -- the outbox: what is durable, and for how long


class OutboxInMemory(Outbox):
    def stage(self, kind: Kind, recipients: Iterable[str], body: bytes, sequence: int) -> list[OutboxEntry]:
        name = self._state.message_id(sequence)
        return [OutboxEntry(sequence, each, name, kind, body, self._context.now) for each in recipients]


class FirstEntryDurable(Outbox):
    def stage(self, kind: Kind, recipients: Iterable[str], body: bytes, sequence: int) -> list[OutboxEntry]:
        entries = super().stage(kind, recipients, body, sequence)
        for entry in entries[1:]:
            self._context.store.remove_entry(entry.sequence, entry.recipient)
        return entries


class OneRecipient(Device):
    def recipients(self) -> list[str]:
        return super().recipients()[:1]


class DeletedWhenPushed(Outbox):
    def push(self, lane: Lane, entry: OutboxEntry) -> None:
        super().push(lane, entry)
        with self._context.store.transaction():
            self._context.store.remove_entry(entry.sequence, entry.recipient)


class NeverDeleted(Outbox):
    def remove(self, entries: list[OutboxEntry]) -> None:
        self.forget(entries)


class FirstAckEndsAll(Outbox):
    def delivered(self, lane: Lane, entry: OutboxEntry) -> None:
        others = [each for each in self.unsent() if each.message_id == entry.message_id and each != entry]
        self.remove(others)
        super().delivered(lane, entry)


class NoReplay(Outbox):
    def load(self) -> None:
        """What an earlier run left stays where it is."""


class NewSendsFirst(Outbox):
    """Puts what is sent after a start in front of what the start found."""

    def load(self) -> None:
        super().load()
        self._found = {entry.sequence for entry in self.unsent()}

    def queue(self, entries: Iterable[OutboxEntry]) -> None:
        added = list(entries)
        super().queue(added)
        for entry in added:
            waiting = self._lane(entry.recipient).entries
            if waiting[0].sequence in getattr(self, "_found", ()):
                waiting.rotate(1)


class LoadedAsText(Outbox):
    def load(self) -> None:
        self.queue(sorted(self._context.store.outbox(), key=lambda entry: str(entry.sequence)))


# -- the calls


class SendNeedsConnection(Device):
    def check_sendable(self, body: bytes) -> None:
        if not self.connection.usable:
            raise ApiError("storage")
        super().check_sendable(body)


class NoSizeCheck(Device):
    def check_sendable(self, body: bytes) -> None:  # noqa: ARG002 - the size is not looked at
        if self.state.status != "member":
            raise not_member(self.state.status)


class LimitOffByOne(Device):
    def check_sendable(self, body: bytes) -> None:
        super().check_sendable(body)
        if len(body) == self.max_payload_bytes():
            raise payload_too_large(self.max_payload_bytes())


class LimitOneMore(Device):
    def check_sendable(self, body: bytes) -> None:
        super().check_sendable(body[:-1])


class LimitCountsCharacters(Device):
    def check_sendable(self, body: bytes) -> None:
        super().check_sendable(b"." * len(body.decode("utf-8", "replace")))


class SizeCheckedAfterWriting(Device):
    def check_sendable(self, body: bytes) -> None:
        if len(body) > self.max_payload_bytes():
            with self.context.store.transaction():
                entries = self.outbox.send("sync", self.recipients(), body)
            self.outbox.queue(entries)
        super().check_sendable(body)


class LimitNotClamped(Device):
    def max_payload_bytes(self) -> int:
        chosen = self.options.max_payload_bytes
        return self.limits.max_payload_bytes if chosen is None else chosen


class LimitIgnored(Device):
    def max_payload_bytes(self) -> int:
        return self.limits.max_payload_bytes


class MaxNamesTheConstant(Device):
    def check_sendable(self, body: bytes) -> None:
        if len(body) > self.max_payload_bytes():
            raise payload_too_large(self.limits.max_payload_bytes)
        super().check_sendable(body)


class QueueJudgedAgain(Device):
    def _start(self) -> None:
        super()._start()
        large = [entry for entry in self.outbox.unsent() if len(entry.body) > self.max_payload_bytes()]
        self.outbox.remove(large)


class AnyoneSends(Device):
    def check_sendable(self, body: bytes) -> None:
        if len(body) > self.max_payload_bytes():
            raise payload_too_large(self.max_payload_bytes())


class LeavingSends(Device):
    def check_sendable(self, body: bytes) -> None:
        if self.state.status not in ("leaving", "destroying"):
            super().check_sendable(body)


class StatusIsNotNamed(Device):
    def check_sendable(self, body: bytes) -> None:
        if self.state.status != "member":
            raise not_member("notJoined")
        super().check_sendable(body)


class RefusedSendIsKept(Device):
    """Keeps what a device sends while it waits to be admitted, and sends it once it is."""

    _kept: bytes | None = None

    def check_sendable(self, body: bytes) -> None:
        if self.state.status == "pendingJoin":
            self._kept = body
        kept, self._kept = (self._kept, None) if self.state.status == "member" else (None, self._kept)
        super().check_sendable(body)
        if kept is not None:
            self.send(kept)


class NeverClosed(Device):
    def close(self) -> None:
        """Nothing changes."""


class StatusAfterClose(Device):
    def status(self) -> DeviceStatus:
        return DeviceStatus(self.state.status, self.state.me, self.state.others(), self.connection.current)


class PairingAfterClose(Device):
    def start_pairing(self) -> str:
        return self.pairing.start_pairing()


# -- lost pushes


class LostIsDelivered(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        super().answered(request, Accepted() if isinstance(answer, Lost) else answer)


class LostGetsNewId(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is None or not isinstance(answer, Lost):
            return
        self.remove([entry])
        with self._context.store.transaction():
            again = self.send(entry.kind, [entry.recipient], entry.body)
        self.queue(again)


class GivesUpOnLosses(Outbox):
    LOSSES: ClassVar[int] = 5

    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is None or not isinstance(answer, Lost):
            return
        self._lost = getattr(self, "_lost", 0) + 1
        if self._lost == self.LOSSES:
            self.fail([entry], "expired")


class LostIsWaitedFor(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        if not isinstance(answer, Lost):
            super().answered(request, answer)

    def disconnected(self) -> None:
        for lane in self._lanes.values():
            lane.retry_at = None


# -- order


class RetryGoesToTheBack(Outbox):
    def requeue(self, lane: Lane) -> None:
        super().requeue(lane)
        lane.entries.rotate(-1)


class Overtakes(Outbox):
    """While the head waits for its retry, pushes what is behind it."""

    def next_entry(self, lane: Lane) -> OutboxEntry | None:
        waits = lane.in_flight is None and lane.retry_at is not None and lane.retry_at > self._context.now
        if not self._connection.usable or not waits:
            return super().next_entry(lane)
        live = [entry for entry in lane.entries if entry in self.unsent()]
        return live[1] if len(live) > 1 else None


class NewestFirst(Outbox):
    def head(self, lane: Lane) -> OutboxEntry | None:
        live = [entry for entry in lane.entries if entry in self.unsent()]
        return live[-1] if live else None


class PipelinesOneRecipient(Outbox):
    """Does not wait for the answer before it pushes the next entry."""

    def pump_lane(self, lane: Lane) -> None:
        if not self._connection.usable or (lane.retry_at is not None and lane.retry_at > self._context.now):
            return
        flying = list(self._pushed.values())
        for entry in [each for each in lane.entries if each in self.unsent() and each not in flying]:
            self.push(lane, entry)


class LostLetsOthersPass(Outbox):
    """Puts a lost push back behind what was queued meanwhile."""

    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Lost):
            self._lane(entry.recipient).entries.rotate(-1)


class OneLaneForAll(Outbox):
    def is_blocked(self, lane: Lane) -> bool:
        return any(super(OneLaneForAll, self).is_blocked(each) for each in (lane, *self._lanes.values()))


class RefusalPausesAll(Outbox):
    def requeue(self, lane: Lane) -> None:
        super().requeue(lane)
        for each in self._lanes.values():
            each.retry_at = lane.retry_at


# -- refusals


def _permanent_too(refusal: str) -> type[Outbox]:
    """An outbox that takes one temporary refusal for a permanent one."""

    class PermanentToo(Outbox):
        def permanent_reason(self, code: str) -> Undeliverable | None:
            return "malformed" if code == refusal else super().permanent_reason(code)

    return PermanentToo


class GivesUpAfterTen(Outbox):
    LIMIT: ClassVar[int] = 10

    def refused(self, lane: Lane, entry: OutboxEntry, code: str) -> None:
        super().refused(lane, entry, code)
        self._refusals = getattr(self, "_refusals", 0) + 1
        if self._refusals == self.LIMIT:
            self.fail([entry], "expired")


class RefusalIsReported(Outbox):
    def requeue(self, lane: Lane) -> None:
        super().requeue(lane)
        head = self.head(lane)
        if head is not None:
            self._notices.issue(SendFailed(head.message_id, "malformed"))


class RefusedIsDropped(Outbox):
    def requeue(self, lane: Lane) -> None:
        head = self.head(lane)
        if head is not None:
            self.remove([head])


class RefusedOnlyInMemory(Outbox):
    """Takes a refused entry out of the store and keeps it in memory for the retry."""

    def requeue(self, lane: Lane) -> None:
        super().requeue(lane)
        head = self.head(lane)
        if head is not None:
            with self._context.store.transaction():
                self._context.store.remove_entry(head.sequence, head.recipient)


class PermanentIsRetried(Outbox):
    def permanent_reason(self, code: str) -> Undeliverable | None:  # noqa: ARG002 - every code is alike
        return None


class PermanentBlocks(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        super().fail(entries, reason)
        for entry in entries:
            self._lane(entry.recipient).in_flight = -1


class FailedStaysInStore(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        self.forget(entries)
        for entry in entries:
            self._notices.issue(SendFailed(entry.message_id, reason))


class ReasonsSwapped(Outbox):
    def permanent_reason(self, code: str) -> Undeliverable | None:
        swapped: dict[str, Undeliverable] = {"too_large": "malformed", "malformed": "tooLarge"}
        return swapped.get(code)


class OneFailureFailsAll(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        names = {entry.message_id for entry in entries}
        others = [each for each in self.unsent() if each.message_id in names and each not in entries]
        self.remove(others)
        super().fail(entries, reason)


class FailsSilently(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:  # noqa: ARG002 - nobody is told
        self.remove(entries)


class FailsTwice(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        super().fail(entries, reason)
        for entry in entries:
            self._notices.issue(SendFailed(entry.message_id, reason))


class FailureDropsTheQueue(Outbox):
    def refused(self, lane: Lane, entry: OutboxEntry, code: str) -> None:
        if self.permanent_reason(code) is not None:
            self.remove([each for each in self.unsent() if each.recipient == entry.recipient and each != entry])
        super().refused(lane, entry, code)


# -- versions


class UnsupportedFails(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Unsupported):
            self.fail([entry], "malformed")


class UnsupportedDrops(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Unsupported):
            self.remove([entry])


class UnsupportedHotLoop(Outbox):
    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Unsupported):
            self.push(self._lane(entry.recipient), entry)


class StillUsable(ConnectionTracker):
    @property
    def usable(self) -> bool:
        return self.current.state in ("connected", "relayVersionUnsupported")


class RetriesUnsupported(Outbox):
    PAUSE: ClassVar[int] = 100

    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Unsupported):
            self._lane(entry.recipient).retry_at = self._context.now + self.PAUSE


class UnsupportedRetriedTenTimesASecond(Device):
    connection_class = StillUsable
    outbox_class = RetriesUnsupported


class UnsupportedLooksDisconnected(ConnectionTracker):
    def unsupported(self, minimum: int, maximum: int) -> None:  # noqa: ARG002 - the range is lost
        self.disconnected()


class UnsupportedDisconnects(Device):
    connection_class = UnsupportedLooksDisconnected


class UnsupportedWithoutRange(ConnectionTracker):
    def unsupported(self, minimum: int, maximum: int) -> None:  # noqa: ARG002 - it is not passed on
        super().unsupported(minimum, minimum)


class RangeForgotten(Device):
    connection_class = UnsupportedWithoutRange


class SessionIgnoresUnsupported(ReceiveSession):
    def answered(self, request: int, answer: SessionAnswer) -> None:
        super().answered(request, Lost() if isinstance(answer, Unsupported) else answer)


class UnsupportedSessionUnseen(Device):
    receive_session_class = SessionIgnoresUnsupported


class SealedUnderVersionOne(Outbox):
    """Seals under the version that was current when the outbox was written."""

    def seal(self, entry: OutboxEntry) -> Json:
        content = self._state.content(entry.sequence, self.sender_timestamp(entry), 2, entry.body)
        if entry.kind != "sync":
            return super().seal(entry)
        return self._context.codec.seal(content, 1, entry.recipient, self.fresh_ephemeral())


def _drops_on_upgrade(kinds: frozenset[Kind]) -> type[Device]:
    """A device that clears entries of these kinds out of the outbox when its version changes."""

    class Dropping(Membership):
        def upgrade(self) -> None:
            changed = self._state.session.end_to_end_version != self._context.end_to_end_version
            super().upgrade()
            if not changed:
                return
            with self._context.store.transaction():
                for entry in self._context.store.outbox():
                    if entry.kind in kinds:
                        self._context.store.remove_entry(entry.sequence, entry.recipient)

    class DropsOnUpgrade(Device):
        membership_class = Dropping

    return DropsOnUpgrade


class RestampingMembership(Membership):
    def upgrade(self) -> None:
        changed = self._state.session.end_to_end_version != self._context.end_to_end_version
        super().upgrade()
        if not changed:
            return
        with self._context.store.transaction():
            for entry in self._context.store.outbox():
                self._context.store.add_entry(replace(entry, sent_at=self._context.now))


class UpgradeRestamps(Device):
    membership_class = RestampingMembership


class RenumberingMembership(Membership):
    def upgrade(self) -> None:
        changed = self._state.session.end_to_end_version != self._context.end_to_end_version
        super().upgrade()
        if not changed:
            return
        with self._context.store.transaction():
            for entry in self._context.store.outbox():
                sequence = self._state.take_sequence()
                self._context.store.remove_entry(entry.sequence, entry.recipient)
                name = self._state.message_id(sequence)
                self._context.store.add_entry(replace(entry, sequence=sequence, message_id=name))


class UpgradeRenumbers(Device):
    membership_class = RenumberingMembership


class OldSignature(Membership):
    def sign_anew(self, entry: OutboxEntry, old_version: int) -> None:
        """The manifest keeps the signature of the old version."""


class UpgradeKeepsSignature(Device):
    membership_class = OldSignature


# -- identity: Message IDs, Sequences, bodies, recipients, and what the relay can read


class EqualBodiesMerged(Device):
    def send(self, body: bytes) -> str:
        for entry in self.outbox.unsent():
            if entry.kind == "sync" and entry.body == body:
                return entry.message_id
        return super().send(body)


class IdPerRecipient(Outbox):
    def stage(self, kind: Kind, recipients: Iterable[str], body: bytes, sequence: int) -> list[OutboxEntry]:
        first, *others = recipients
        entries = super().stage(kind, [first], body, sequence)
        for other in others:
            entries += super().stage(kind, [other], body, self._state.take_sequence())
        return entries


class IdOfItsOwn(Device):
    def send(self, body: bytes) -> str:
        super().send(body)
        return message_id(self.context.random_bytes(32).hex(), 1)


class SequenceFromOutbox(SessionState):
    def load(self) -> bool:
        found = super().load()
        self._sequence = max((entry.sequence for entry in self._context.store.outbox()), default=0)
        return found


class SequencesFromOutbox(Device):
    session_state_class = SequenceFromOutbox


class SequenceInMemory(SessionState):
    def load(self) -> bool:
        found = super().load()
        self._sequence = 0
        return found


class SequencesStartOver(Device):
    session_state_class = SequenceInMemory


class BodyStripped(Outbox):
    def seal(self, entry: OutboxEntry) -> Json:
        return super().seal(replace(entry, body=entry.body.strip()) if entry.kind == "sync" else entry)


class BodyAsText(Outbox):
    def seal(self, entry: OutboxEntry) -> Json:
        text = entry.body.decode("utf-8", "replace")
        return super().seal(replace(entry, body=text.encode()) if entry.kind == "sync" else entry)


class SealedForTheFirst(Outbox):
    """Seals a message once, for its first recipient, and pushes that to everyone."""

    def seal(self, entry: OutboxEntry) -> Json:
        first = self._state.others()[0].noise_pub if self._state.others() else entry.recipient
        return super().seal(replace(entry, recipient=first))


class HistoryForNewMembers(Pairing):
    def accept(self, request: str) -> None:
        joiner = self._requests.get(request)
        waiting = {entry.message_id: entry for entry in self._outbox.unsent() if entry.kind == "sync"}
        super().accept(request)
        if joiner is None:
            return
        history = [replace(entry, recipient=joiner.noise_pub) for entry in waiting.values()]
        with self._context.store.transaction():
            for entry in history:
                self._context.store.add_entry(entry)
        self._outbox.queue(history)
        self._outbox.pump()


class SendsHistory(Device):
    pairing_class = HistoryForNewMembers


class EphemeralPerProcess(Outbox):
    _ephemeral: str | None = None

    def fresh_ephemeral(self) -> str:
        if self._ephemeral is None:
            self._ephemeral = super().fresh_ephemeral()
        return self._ephemeral


class EphemeralPerRecipient(Outbox):
    def seal(self, entry: OutboxEntry) -> Json:
        content = self._state.content(entry.sequence, self.sender_timestamp(entry), 2, entry.body)
        if entry.kind != "sync":
            return super().seal(entry)
        ephemeral = hashlib.sha256(entry.recipient.encode()).hexdigest()
        return self._context.codec.seal(content, self._context.end_to_end_version, entry.recipient, ephemeral)


class EphemeralFromCounter(Outbox):
    """Keys from a counter that begins anew with each start."""

    _seals = 0

    def fresh_ephemeral(self) -> str:
        self._seals += 1
        return hashlib.sha256(f"seal {self._seals}".encode()).hexdigest()


SYNC: frozenset[Kind] = frozenset(("sync",))

_OUTBOXES: tuple[tuple[str, str, str, type[Outbox]], ...] = (
    ("outbox-in-memory", "SND-001", "keeps the outbox in memory", OutboxInMemory),
    ("first-entry-durable", "SND-001", "writes the first recipient's entry only", FirstEntryDurable),
    ("deleted-when-pushed", "SND-007", "deletes an entry when it is pushed, not when it is acked", DeletedWhenPushed),
    ("never-deleted", "SND-007", "keeps what was delivered in the store, and pushes it at each start", NeverDeleted),
    ("first-ack-ends-all", "SND-024", "deletes every recipient's entry at the first ack", FirstAckEndsAll),
    ("no-replay", "SND-022", "does not look at the outbox at the start", NoReplay),
    ("new-sends-first", "SND-022", "puts what is sent after a start before what the start found", NewSendsFirst),
    ("loaded-as-text", "SND-013", "reads the outbox back in the order of Sequences as text", LoadedAsText),
    ("lost-is-delivered", "SND-008", "takes a push without an answer for delivered", LostIsDelivered),
    ("lost-gets-new-id", "SND-008", "sends a lost push again as a new message", LostGetsNewId),
    ("gives-up-on-losses", "SND-027", "gives a message up when its push was lost five times", GivesUpOnLosses),
    ("lost-is-waited-for", "SND-008", "waits for ever for the answer to a lost push", LostIsWaitedFor),
    ("retry-goes-to-the-back", "SND-013", "puts a refused entry behind the others", RetryGoesToTheBack),
    ("overtakes", "SND-013", "pushes the next entry while the first waits for its retry", Overtakes),
    ("newest-sent-first", "SND-013", "pushes the newest entry first", NewestFirst),
    ("pipelines-one-recipient", "SND-013", "pushes to a recipient without awaiting answers", PipelinesOneRecipient),
    ("lost-lets-others-pass", "SND-013", "puts a lost push behind the others", LostLetsOthersPass),
    ("one-lane-for-all", "SND-014", "lets one recipient's retry block every other", OneLaneForAll),
    ("refusal-pauses-all", "SND-014", "makes everyone wait when one recipient is refused", RefusalPausesAll),
    ("inbox-full-is-permanent", "SND-009", "fails an entry on inbox full", _permanent_too("inbox_full")),
    ("rate-limited-is-permanent", "SND-009", "fails an entry on rate limited", _permanent_too("rate_limited")),
    ("unavailable-is-permanent", "SND-009", "fails an entry on unavailable", _permanent_too("unavailable")),
    ("internal-error-is-permanent", "SND-009", "fails an entry on internal error", _permanent_too("internal_error")),
    ("gives-up-after-ten", "SND-009", "gives an entry up at its tenth refusal", GivesUpAfterTen),
    ("refusal-is-reported", "SND-009", "raises an issue for each temporary refusal", RefusalIsReported),
    ("refused-is-dropped", "SND-009", "drops what was refused for a while", RefusedIsDropped),
    ("refused-only-in-memory", "SND-009", "keeps a refused entry in memory only", RefusedOnlyInMemory),
    ("permanent-is-retried", "SND-015", "retries what was refused for good", PermanentIsRetried),
    ("permanent-blocks", "SND-015", "stops with what is behind a failed entry", PermanentBlocks),
    ("failed-stays-in-store", "SND-015", "reports a failed entry and leaves it in the store", FailedStaysInStore),
    ("reasons-swapped", "SND-015", "reports too large as malformed, and the reverse", ReasonsSwapped),
    ("one-failure-fails-all", "SND-024", "drops every recipient's entry when one fails", OneFailureFailsAll),
    ("fails-silently", "SND-015", "removes a failed entry without an issue", FailsSilently),
    ("fails-twice", "SND-015", "raises two issues for each failed entry", FailsTwice),
    ("failure-drops-the-queue", "SND-015", "drops what is behind a failed entry", FailureDropsTheQueue),
    ("unsupported-fails", "SND-020", "fails entries when the Transport Version is not spoken", UnsupportedFails),
    ("unsupported-drops", "SND-020", "drops entries when the Transport Version is not spoken", UnsupportedDrops),
    ("unsupported-hot-loop", "SND-020", "pushes on and on when the version is not spoken", UnsupportedHotLoop),
    ("sealed-under-version-one", "SND-021", "seals queued messages under the old version", SealedUnderVersionOne),
    ("id-per-recipient", "SND-024", "gives a message another Sequence for each recipient", IdPerRecipient),
    ("body-stripped", "SND-026", "strips white space around a body", BodyStripped),
    ("body-as-text", "SND-026", "takes a body for UTF-8 text", BodyAsText),
    ("sealed-for-the-first", "SND-026", "pushes what is sealed for the first recipient to all", SealedForTheFirst),
    ("ephemeral-per-process", "MTA-002", "uses one ephemeral key until it stops", EphemeralPerProcess),
    ("ephemeral-per-recipient", "MTA-002", "uses one ephemeral key for each recipient", EphemeralPerRecipient),
    ("ephemeral-from-counter", "MTA-002", "repeats its ephemeral keys after each start", EphemeralFromCounter),
)

_DEVICES: tuple[tuple[str, str, str, type[Device]], ...] = (
    ("one-recipient", "SND-001", "sends to the first member only", OneRecipient),
    ("send-needs-connection", "SND-002", "fails send() while there is no connection", SendNeedsConnection),
    ("no-size-check", "SND-003", "takes a body of any size", NoSizeCheck),
    ("limit-off-by-one", "SND-003", "refuses a body of exactly the limit", LimitOffByOne),
    ("limit-one-more", "SND-003", "takes a body of one byte over the limit", LimitOneMore),
    ("limit-counts-characters", "SND-003", "counts characters, not bytes", LimitCountsCharacters),
    ("size-checked-after-writing", "SND-003", "checks the size after the outbox was written", SizeCheckedAfterWriting),
    ("limit-not-clamped", "SND-004", "lets maxPayloadBytes raise the limit", LimitNotClamped),
    ("limit-ignored", "SND-004", "ignores maxPayloadBytes", LimitIgnored),
    ("max-names-the-constant", "SND-004", "reports 61,440 whatever the limit in force is", MaxNamesTheConstant),
    ("queue-judged-again", "SND-004", "drops queued bodies over a limit lowered since", QueueJudgedAgain),
    ("anyone-sends", "SND-005", "sends in every status", AnyoneSends),
    ("leaving-sends", "SND-005", "sends while it leaves or destroys", LeavingSends),
    ("status-is-not-named", "SND-005", "always names notJoined in notMember", StatusIsNotNamed),
    ("refused-send-is-kept", "SND-005", "sends later what it refused while it was not admitted", RefusedSendIsKept),
    ("never-closed", "SND-006", "goes on after close()", NeverClosed),
    ("status-after-close", "SND-006", "answers status after close()", StatusAfterClose),
    ("pairing-after-close", "SND-006", "opens a Pairing Window after close()", PairingAfterClose),
    ("unsupported-ten-times-a-second", "SND-020", "retries every 100 ms", UnsupportedRetriedTenTimesASecond),
    ("unsupported-disconnects", "SND-020", "shows disconnected when the version is not spoken", UnsupportedDisconnects),
    ("unsupported-range-forgotten", "SND-020", "reports the relay's min as its max", RangeForgotten),
    ("unsupported-session-unseen", "SND-020", "does not look at a refused Receive Session", UnsupportedSessionUnseen),
    ("upgrade-drops-sync", "SND-021", "drops queued messages at an upgrade", _drops_on_upgrade(SYNC)),
    (
        "upgrade-drops-manifests",
        "SND-021",
        "drops queued manifests and Leaves at an upgrade",
        _drops_on_upgrade(frozenset(("manifest", "leave"))),
    ),
    (
        "upgrade-drops-pair-and-revoke",
        "SND-021",
        "drops queued Pairs and Revokes at an upgrade",
        _drops_on_upgrade(frozenset(("pair", "revoke"))),
    ),
    ("upgrade-restamps", "SND-021", "stamps queued messages anew at an upgrade", UpgradeRestamps),
    ("upgrade-renumbers", "SND-021", "gives queued messages a new Sequence at an upgrade", UpgradeRenumbers),
    ("upgrade-keeps-signature", "SND-021", "keeps a manifest's signature of the old version", UpgradeKeepsSignature),
    ("equal-bodies-merged", "SND-023", "sends a body once that is queued already", EqualBodiesMerged),
    ("id-of-its-own", "SND-028", "returns an id from send() that nobody else computes", IdOfItsOwn),
    ("sequences-from-outbox", "SND-025", "goes on from the highest Sequence in the outbox", SequencesFromOutbox),
    ("sequences-start-over", "SND-025", "begins Sequences anew at each start", SequencesStartOver),
    ("sends-history", "SND-029", "sends what is queued to a member that joins", SendsHistory),
)

MUTANTS: tuple[Mutant, ...] = (
    *(Mutant(name, breaks, does, with_outbox(outbox)) for name, breaks, does, outbox in _OUTBOXES),
    *(Mutant(name, breaks, does, device) for name, breaks, does, device in _DEVICES),
)
