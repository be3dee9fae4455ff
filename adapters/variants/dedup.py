"""Devices that remember what they handled in another way than the reference does, and as long."""

from __future__ import annotations

from dataclasses import replace

from adapters.deviation import Variant
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.identity import Identity
from reference_impl.device.limits import DAY, Limits
from reference_impl.device.outbox import Outbox
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SEQUENCE, SessionState
from reference_impl.device.store import OutboxEntry
from reference_impl.wire.content import Content

BLOCK = 16
"""So many Sequences are reserved at once."""


class KeepsLonger(Device):
    limits = replace(Limits(), dedup_retention=90 * DAY)


class NeverPrunes(DedupTable):
    def prune(self) -> None:
        """Keeps everything: the Replay Window refuses what is older."""

    def is_kept(self, until: int) -> bool:  # noqa: ARG002 - whatever is there counts
        return True


class KeepsForEver(Device):
    dedup_class = NeverPrunes


class PrunesAtStart(DedupTable):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        with context.store.transaction():
            super().prune()

    def prune(self) -> None:
        """At the next start."""


class PrunesWhenItStarts(Device):
    dedup_class = PrunesAtStart


class PrunesOnlyByTimer(DedupTable):
    def prune(self) -> None:
        """When the timer says so."""

    def sweep(self) -> None:
        with self._context.store.transaction():
            super().prune()


class SweepsDaily(Recipient):
    """A timer once a day, running whether there is anything to forget or not."""

    sweep_at: int | None = None

    def tick(self) -> None:
        super().tick()
        if isinstance(self._dedup, PrunesOnlyByTimer) and self.sweep_at is not None:
            while self.sweep_at <= self._context.now:
                self._dedup.sweep()
                self.sweep_at += DAY

    def next_timer(self) -> int | None:
        if self.sweep_at is None:
            self.sweep_at = self._context.now + DAY
        earliest = super().next_timer()
        return self.sweep_at if earliest is None else min(earliest, self.sweep_at)


class PrunesDaily(Device):
    dedup_class = PrunesOnlyByTimer
    recipient_class = SweepsDaily


class JournalledDedup(Recipient):
    """A note in a journal, durable by itself, and then the record: two writes, the first of which counts."""

    def record(self, content: Content) -> None:
        until = self._dedup.retention_until(self._context.now, content.sender_timestamp)
        with self._context.store.transaction():
            self._context.store.record_handled(content.message_id, until)
        with self._context.store.transaction():
            self._dedup.record(content)


class RecordsInTwoWrites(Device):
    recipient_class = JournalledDedup


class NotesThenRecords(Recipient):
    """A note that has no meaning of its own is written before the record."""

    def record(self, content: Content) -> None:
        with self._context.store.transaction():
            self._context.store.write("last-handled", content.message_id)
        super().record(content)


class NotesWhatItIsAbout(Device):
    recipient_class = NotesThenRecords


class ReservesSequences(SessionState):
    """Durable is the end of a block of Sequences; after a crash the rest of the block is a gap."""

    _reserved = 0

    def load(self) -> bool:
        known = super().load()
        self._reserved = self._sequence
        return known

    def take_sequence(self) -> int:
        self._sequence += 1
        if self._sequence > self._reserved:
            self._reserved = self._sequence + BLOCK
            self._context.store.write(SEQUENCE, str(self._reserved))
        return self._sequence

    def begin(self, identity: Identity) -> None:
        super().begin(identity)
        self._reserved = 0


class NumbersInBlocks(Device):
    session_state_class = ReservesSequences


class SequenceFirst(Device):
    """Takes the Sequence in a write of its own; a crash behind it leaves a gap and no message."""

    def send(self, body: bytes) -> str:
        self._require_open()
        self.check_sendable(body)
        with self.context.store.transaction():
            sequence = self.state.take_sequence()
        with self.context.store.transaction():
            entries = self.outbox.stage("sync", self.recipients(), body, sequence)
        self.outbox.queue(entries)
        self.outbox.pump()
        return self.state.message_id(sequence)


class DeletesLater(Outbox):
    """Deletes delivered entries one write after the other, where others do it in one."""

    def remove(self, entries: list[OutboxEntry]) -> None:
        with self._context.store.transaction():
            self._context.store.write("last-delivered", ",".join(entry.message_id for entry in entries))
        super().remove(entries)


class NotesDeliveries(Device):
    outbox_class = DeletesLater


VARIANTS = (
    Variant("dedup-90-days", "keeps a record longer than it has to", KeepsLonger),
    Variant("dedup-for-ever", "never forgets what it handled; the window refuses what is older", KeepsForEver),
    Variant("dedup-pruned-at-start", "forgets at its start only", PrunesWhenItStarts),
    Variant("dedup-pruned-daily", "forgets by a timer once a day, which keeps running", PrunesDaily),
    Variant("dedup-journalled", "records in two durable writes, the first of which counts", RecordsInTwoWrites),
    Variant("dedup-after-a-note", "records in two durable writes, the second of which counts", NotesWhatItIsAbout),
    Variant("sequence-blocks", "reserves Sequences in blocks, so that a crash leaves a gap", NumbersInBlocks),
    Variant(
        "sequence-first",
        "takes the Sequence in a write before the outbox write, so a crash may waste it",
        SequenceFirst,
    ),
    Variant("deletes-after-a-note", "takes two durable writes to delete what was delivered", NotesDeliveries),
)
