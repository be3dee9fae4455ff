"""Devices that a crash at the wrong moment finds out."""

from __future__ import annotations

from adapters.deviation import Mutant, with_outbox
from reference_impl.device.checks import Blob
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.effects import Issue, Message
from reference_impl.device.membership import Membership
from reference_impl.device.outbox import Lane, Outbox
from reference_impl.device.recipient import Handling, Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import OutboxEntry
from reference_impl.wire.content import Content, Member


class SendWritesRowByRow(Device):
    """Each outbox entry in a transaction of its own: a crash between two of them sends half a message."""

    def send(self, body: bytes) -> str:
        self._require_open()
        self.check_sendable(body)
        with self.context.store.transaction():
            sequence = self.state.take_sequence()
        entries: list[OutboxEntry] = []
        for recipient in self.recipients():
            with self.context.store.transaction():
                entries += self.outbox.stage("sync", [recipient], body, sequence)
        self.outbox.queue(entries)
        self.outbox.pump()
        return self.state.message_id(sequence)


class OutboxLoadsHeads(Outbox):
    def load(self) -> None:
        heads: dict[str, OutboxEntry] = {}
        for entry in self._context.store.outbox():
            heads.setdefault(entry.recipient, entry)
        self.queue(heads.values())


class OutboxPushedIsDone(Outbox):
    def push(self, lane: Lane, entry: OutboxEntry) -> None:
        with self._context.store.transaction():
            self._context.store.remove_entry(entry.sequence, entry.recipient)
        super().push(lane, entry)


class OutboxRenumbers(Outbox):
    """What is left from before the crash is sent as if it were new."""

    def load(self) -> None:
        fresh: dict[int, int] = {}
        with self._context.store.transaction():
            for entry in self._context.store.outbox():
                if entry.sequence not in fresh:
                    fresh[entry.sequence] = self._state.take_sequence()
                self._context.store.remove_entry(entry.sequence, entry.recipient)
                self.stage(entry.kind, [entry.recipient], entry.body, fresh[entry.sequence])
        super().load()


class SequenceFromOutbox(SessionState):
    """The Sequence goes on from the highest one in the outbox; what was delivered is not in there any more."""

    def load(self) -> bool:
        known = super().load()
        self._sequence = max((entry.sequence for entry in self._context.store.outbox()), default=0)
        return known


class CountsFromTheOutbox(Device):
    session_state_class = SequenceFromOutbox


class RecordsBeforeHandler(Recipient):
    def hand_over(self, blob: Blob, message: Message) -> None:
        self.record(blob.content)
        super().hand_over(blob, message)


class RecordsBeforeTheHandler(Device):
    recipient_class = RecordsBeforeHandler


class AcksBeforeHandler(Recipient):
    def call_handler(self, handling: Handling) -> None:
        if handling.attempts == 0:
            self.ack(handling.blob)
        super().call_handler(handling)

    def finish(self, handling: Handling, issue: Issue | None) -> None:
        self.record(handling.blob.content)
        if issue is not None:
            self._notices.issue(issue)
        self._handling = None


class AcksWhenTheHandlerStarts(Device):
    recipient_class = AcksBeforeHandler


class AcksBeforeRecord(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        self.ack(handling.blob)
        self.record(handling.blob.content)
        if issue is not None:
            self._notices.issue(issue)
        self._handling = None


class AcksBeforeItRecords(Device):
    recipient_class = AcksBeforeRecord


class DedupFromAcks(Recipient):
    """A record is written when the ack is sent; while there is no session to ack on, there is none."""

    def record(self, content: Content) -> None:
        if self._session.current is not None:
            super().record(content)


class RecordsOnlyWhatItAcks(Device):
    recipient_class = DedupFromAcks


class DedupUntilClose(DedupTable):
    """Written out at a polite stop only."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.unwritten: list[Content] = []

    def knows(self, content: Content) -> bool:
        return any(each.message_id == content.message_id for each in self.unwritten) or super().knows(content)

    def record(self, content: Content) -> None:
        self.unwritten.append(content)

    def write_out(self) -> None:
        with self._context.store.transaction():
            for content in self.unwritten:
                super().record(content)


class WritesDedupAtClose(Device):
    dedup_class = DedupUntilClose

    def close(self) -> None:
        super().close()
        if isinstance(self.dedup, DedupUntilClose):
            self.dedup.write_out()


class IssuesBeforeItStages(Membership):
    """The manifest becomes current in one transaction, and its pushes become durable in the next."""

    def issue_manifest(self, members: tuple[Member, ...], besides: tuple[Member, ...] = ()) -> None:
        body = self.next_manifest(members)
        with self._context.store.transaction():
            self._state.adopt(body, "member")
        with self._context.store.transaction():
            entries = self.stage("manifest", (*self._state.others(), *besides), body)
        self._outbox.queue(entries)


class AdoptsBeforeItStages(Device):
    membership_class = IssuesBeforeItStages


MUTANTS = (
    Mutant(
        "send-row-by-row",
        "CRS-001",
        "writes each outbox entry in a transaction of its own, so a crash between two leaves half a message",
        SendWritesRowByRow,
    ),
    Mutant(
        "adopts-then-stages",
        "CRS-001",
        "makes its own manifest current in one transaction and queues it for the others in the next",
        AdoptsBeforeItStages,
    ),
    Mutant(
        "outbox-loads-heads",
        "CRS-002",
        "takes up one entry for each recipient at the start and forgets those behind it",
        with_outbox(OutboxLoadsHeads),
    ),
    Mutant(
        "pushed-is-done",
        "CRS-003",
        "deletes an entry when it is pushed, so a crash before the push ack loses it",
        with_outbox(OutboxPushedIsDone),
    ),
    Mutant(
        "renumbers-at-start",
        "CRS-003",
        "gives what it finds in the outbox a new Sequence, so recipients cannot tell the copy",
        with_outbox(OutboxRenumbers),
    ),
    Mutant(
        "sequence-from-outbox",
        "SND-025",
        "counts on from the highest Sequence in the outbox, where a delivered message is no longer found",
        CountsFromTheOutbox,
    ),
    Mutant(
        "record-before-handler",
        "CRS-004",
        "records the Message ID before it calls the handler, so a crash in the handler loses the message",
        RecordsBeforeTheHandler,
    ),
    Mutant(
        "ack-before-handler",
        "CRS-004",
        "acks when the handler starts, so a crash in the handler loses the message",
        AcksWhenTheHandlerStarts,
    ),
    Mutant(
        "ack-before-record",
        "CRS-004",
        "acks first and records the Message ID then; a crash in between leaves no record of what was acked",
        AcksBeforeItRecords,
    ),
    Mutant(
        "record-needs-session",
        "CRS-005",
        "records a message only while it can ack it, so what was handled offline is handled again after a crash",
        RecordsOnlyWhatItAcks,
    ),
    Mutant(
        "dedup-at-close",
        "CRS-006",
        "writes its dedup table at close(), which a kill does not wait for",
        WritesDedupAtClose,
    ),
)
