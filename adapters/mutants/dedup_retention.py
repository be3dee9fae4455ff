"""Devices whose dedup table forgets, or knows the wrong thing (DDP)."""

from __future__ import annotations

from dataclasses import replace

from adapters.deviation import Mutant
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.limits import DAY, Limits
from reference_impl.device.recipient import Recipient
from reference_impl.device.verdicts import Apply, Drop, Verdict
from reference_impl.wire.content import Content, Tag

SOME = 256
MANY = 5_000
SECOND = 1_000


def with_dedup(dedup: type[DedupTable]) -> type[Device]:
    """The reference Device with another dedup table."""

    class Deviating(Device):
        dedup_class = dedup

    return Deviating


class ForgetsAtStart(DedupTable):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.since_start: set[str] = set()

    def knows(self, content: Content) -> bool:
        return self.key(content) in self.since_start and super().knows(content)

    def record(self, content: Content) -> None:
        self.since_start.add(self.key(content))
        super().record(content)


class KeepsThirtyDays(Device):
    limits = replace(Limits(), dedup_retention=30 * DAY)


class FromHandling(DedupTable):
    def retention_until(self, handled_at: int, sender_timestamp: int) -> int:  # noqa: ARG002 - that is the mistake
        return handled_at + self._context.limits.dedup_retention


class FromTimestamp(DedupTable):
    def retention_until(self, handled_at: int, sender_timestamp: int) -> int:  # noqa: ARG002 - that is the mistake
        return sender_timestamp + self._context.limits.dedup_retention


class FromTheEarlier(DedupTable):
    def retention_until(self, handled_at: int, sender_timestamp: int) -> int:
        return min(handled_at, sender_timestamp) + self._context.limits.dedup_retention


class KeepsTheLatest(DedupTable):
    room = SOME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.latest: dict[str, None] = {}

    def knows(self, content: Content) -> bool:
        return self.key(content) in self.latest and super().knows(content)

    def record(self, content: Content) -> None:
        self.latest[self.key(content)] = None
        if len(self.latest) > self.room:
            del self.latest[next(iter(self.latest))]
        super().record(content)


class KeepsTheLatestThousands(KeepsTheLatest):
    room = MANY


class KeyIsBody(DedupTable):
    def key(self, content: Content) -> str:
        return content.body.hex()


class KeyIsIdAndBody(DedupTable):
    def key(self, content: Content) -> str:
        return content.message_id + content.body.hex()


class KeyIsSequence(DedupTable):
    def key(self, content: Content) -> str:
        return str(content.sequence)


class KeyIsIdAndTimestamp(DedupTable):
    def key(self, content: Content) -> str:
        return f"{content.message_id} {content.sender_timestamp}"


class HighestSequence(DedupTable):
    """One number for each sender, the highest Sequence that was handled."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.highest: dict[str, int] = {}

    def knows(self, content: Content) -> bool:
        return content.sequence <= self.highest.get(content.author_pub, -1) or super().knows(content)

    def record(self, content: Content) -> None:
        self.highest[content.author_pub] = max(content.sequence, self.highest.get(content.author_pub, -1))
        super().record(content)


class KnowsBlobs(Checks):
    """Goes by the blob id: what the relay calls by another id is another message."""

    def check_duplicate(self, blob: Blob) -> Verdict | None:
        return Drop(None) if self._context.store.handled_until(blob.blob_id) is not None else None


class RecordsBlobs(Recipient):
    def record(self, content: Content) -> None:
        blob_id = self._handling.blob.blob_id if self._handling is not None else content.message_id
        with self._context.store.transaction():
            self._context.store.record_handled(blob_id, self._context.now + self._context.limits.dedup_retention)


class GoesByBlobs(Device):
    checks_class = KnowsBlobs
    recipient_class = RecordsBlobs


class EndsAtSixtyDays(DedupTable):
    def is_kept(self, until: int) -> bool:
        return self._context.now < until


class PrunesWhatEnds(DedupTable):
    """Forgets with `<=` where the window still accepts."""

    def prune(self) -> None:
        self._context.store.forget_handled_before(self._context.now + 1)


class EndsInWholeSeconds(DedupTable):
    def retention_until(self, handled_at: int, sender_timestamp: int) -> int:
        return super().retention_until(handled_at, sender_timestamp) // SECOND * SECOND - SECOND


class LooksControlUp(Checks):
    def check_rules(self, blob: Blob) -> Verdict | None:
        if blob.content.tag != Tag.SYNC and self._dedup.knows(blob.content):
            return Drop(None)
        return super().check_rules(blob)


class LooksControlMessagesUp(Device):
    checks_class = LooksControlUp


class RecordsControl(Checks):
    """Notes control messages among the handled ones."""

    def check_rules(self, blob: Blob) -> Verdict | None:
        verdict = super().check_rules(blob)
        if isinstance(verdict, Apply):
            with self._context.store.transaction():
                self._dedup.record(blob.content)
        return verdict


class RecordsControlMessages(Device):
    checks_class = RecordsControl


MUTANTS = (
    Mutant("dedup-since-start", "DDP-001", "knows only what it handled since its start", with_dedup(ForgetsAtStart)),
    Mutant("dedup-30-days", "DDP-002", "keeps a record for 30 days", KeepsThirtyDays),
    Mutant(
        "dedup-from-handling",
        "DDP-002",
        "keeps a record for 60 days from the handling, too short for a message stamped in the future",
        with_dedup(FromHandling),
    ),
    Mutant(
        "dedup-from-timestamp",
        "DDP-002",
        "keeps a record for 60 days from the Sender Timestamp, too short for a message handled late",
        with_dedup(FromTimestamp),
    ),
    Mutant("dedup-from-earlier", "DDP-002", "counts the 60 days from the earlier time", with_dedup(FromTheEarlier)),
    Mutant("dedup-latest-256", "DDP-003", "keeps the latest 256 records", with_dedup(KeepsTheLatest)),
    Mutant("dedup-latest-5000", "DDP-003", "keeps the latest 5,000 records", with_dedup(KeepsTheLatestThousands)),
    Mutant("dedup-by-body", "DDP-004", "takes two messages with the same body for one", with_dedup(KeyIsBody)),
    Mutant(
        "dedup-by-id-and-body", "DDP-004", "takes one Message ID with two bodies for two", with_dedup(KeyIsIdAndBody)
    ),
    Mutant("dedup-by-sequence", "DDP-004", "forgets whose Sequence it is", with_dedup(KeyIsSequence)),
    Mutant("dedup-by-id-and-stamp", "DDP-004", "takes two stamps for two messages", with_dedup(KeyIsIdAndTimestamp)),
    Mutant(
        "dedup-highest", "DDP-004", "takes every Sequence below the highest for handled", with_dedup(HighestSequence)
    ),
    Mutant("dedup-by-blob", "DDP-005", "goes by the blob id, which each fresh push gets anew", GoesByBlobs),
    Mutant(
        "dedup-ends-early", "DDP-006", "drops a record at 60 days, one instant too early", with_dedup(EndsAtSixtyDays)
    ),
    Mutant("dedup-prunes-early", "DDP-006", "prunes at 60 days what is still needed", with_dedup(PrunesWhatEnds)),
    Mutant("dedup-in-seconds", "DDP-006", "rounds the end of a record down", with_dedup(EndsInWholeSeconds)),
    Mutant("control-looked-up", "DDP-007", "drops a control message whose id was handled", LooksControlMessagesUp),
    Mutant("control-recorded", "DDP-007", "records control messages as handled", RecordsControlMessages),
)
