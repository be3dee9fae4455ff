"""Devices that mishandle the way of a control message, in and out (CTL-001, DDP-007, RPW-005, SND-017, SND-019)."""

# ruff: noqa: ARG002 - an override need not use all that it is given

from __future__ import annotations

from collections.abc import Callable

from adapters.deviation import Mutant, with_checks, with_outbox, with_recipient
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.outbox import Outbox
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import OutboxEntry
from reference_impl.device.verdicts import Drop, Verdict
from reference_impl.wire.content import Tag

# -- CTL-001, DDP-007, RPW-005, MTA-001: the way of a control message


class AckBeforeCommit(Recipient):
    def apply(self, blob: Blob, commit: Callable[[], None], after: Callable[[], None]) -> None:
        self.ack(blob)
        super().apply(blob, commit, after)


class AppliedAndNotAcked(Recipient):
    def apply(self, blob: Blob, commit: Callable[[], None], after: Callable[[], None]) -> None:
        commit()
        after()


class DroppedAndNotAcked(Recipient):
    def ack(self, blob: Blob) -> None:
        if blob.sealed is None or blob.content.tag == Tag.SYNC or self._applies:
            super().ack(blob)

    def apply(self, blob: Blob, commit: Callable[[], None], after: Callable[[], None]) -> None:
        self._applies = True
        super().apply(blob, commit, after)
        self._applies = False

    _applies = False


class ControlInDedupTable(Checks):
    """Each control message is looked up and noted down before it is judged."""

    def check_rules(self, blob: Blob) -> Verdict | None:
        if blob.content.tag != Tag.SYNC:
            if self._dedup.knows(blob.content):
                return Drop(None)
            with self._context.store.transaction():
                self._dedup.record(blob.content)
        return super().check_rules(blob)


class ExpiredIsNoted(Checks):
    """What was too old once is never looked at again, stamped anew or not."""

    def __init__(self, context: Context, state: SessionState, dedup: DedupTable) -> None:
        super().__init__(context, state, dedup)
        self._expired: set[str] = set()

    def check_replay_window(self, blob: Blob) -> Verdict | None:
        verdict = super().check_replay_window(blob)
        if verdict is not None:
            self._expired.add(blob.content.message_id)
        return Drop(None) if verdict is None and blob.content.message_id in self._expired else verdict


# -- SND-017, SND-019: control entries in the outbox


class ControlExpires(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        return entry.sent_at + self._context.limits.outbox_expiry


class ControlExpiresInSilence(ControlExpires):
    def expire(self) -> None:
        gone = [each for each in self.unsent() if each.kind != "sync" and self.is_expired(self.expires_at(each) or 0)]
        if gone:
            self.remove(gone)
        super().expire()


class ControlStampedOnce(Outbox):
    def sender_timestamp(self, entry: OutboxEntry) -> int:
        return entry.sent_at


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "control-acked-first",
        "CTL-001",
        "acks a control message before it took effect",
        with_recipient(AckBeforeCommit),
    ),
    Mutant("control-never-acked", "CTL-001", "never acks what took effect", with_recipient(AppliedAndNotAcked)),
    Mutant(
        "dropped-control-unacked",
        "MTA-001",
        "leaves dropped control messages un-acked",
        with_recipient(DroppedAndNotAcked),
    ),
    Mutant(
        "control-deduplicated",
        "DDP-007",
        "notes a control message down before it judges it",
        with_checks(ControlInDedupTable),
    ),
    Mutant("expired-for-good", "RPW-005", "never looks again at what was expired once", with_checks(ExpiredIsNoted)),
    Mutant("control-expires", "SND-017", "gives control messages up after 30 days", with_outbox(ControlExpires)),
    Mutant(
        "control-expires-silently",
        "SND-017",
        "forgets control messages after 30 days",
        with_outbox(ControlExpiresInSilence),
    ),
    Mutant(
        "control-stamped-once", "SND-019", "stamps a control message when it is queued", with_outbox(ControlStampedOnce)
    ),
)
