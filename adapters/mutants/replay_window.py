"""Devices that accept too old a message, refuse a good one, or handle one twice (RPW)."""

from __future__ import annotations

from dataclasses import replace

from adapters.deviation import Mutant, with_outbox
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.limits import DAY, Limits
from reference_impl.device.outbox import Outbox
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import OutboxEntry
from reference_impl.device.verdicts import Drop, Verdict
from reference_impl.wire.content import Content, Tag
from reference_impl.wire.json_types import Json

SECOND = 1_000


def with_checks(checks: type[Checks]) -> type[Device]:
    """The reference Device with other checks."""

    class Deviating(Device):
        checks_class = checks

    return Deviating


class ExcludesTheEnd(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:
        return self._context.now - sender_timestamp >= self._context.limits.replay_window


class CountsSeconds(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:
        return (self._context.now - sender_timestamp) // SECOND > self._context.limits.replay_window // SECOND


class CountsDays(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:
        return (self._context.now - sender_timestamp) // DAY > self._context.limits.replay_window // DAY


class ThirtyDayWindow(Device):
    limits = replace(Limits(), replay_window=30 * DAY)


class Silent(Checks):
    def check_replay_window(self, blob: Blob) -> Verdict | None:
        return Drop(None) if super().check_replay_window(blob) is not None else None


class SyncOnly(Checks):
    def check_replay_window(self, blob: Blob) -> Verdict | None:
        return super().check_replay_window(blob) if blob.content.tag == Tag.SYNC else None


class BothWays(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:
        return abs(self._context.now - sender_timestamp) > self._context.limits.replay_window


class FutureByMinutes(Checks):
    """Takes a clock that is ten minutes ahead for an attack."""

    def is_too_old(self, sender_timestamp: int) -> bool:
        return super().is_too_old(sender_timestamp) or sender_timestamp - self._context.now > 600 * SECOND


class NoFuture(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:
        return super().is_too_old(sender_timestamp) or sender_timestamp > self._context.now


class ClockOfTheStart(Checks):
    """Reads the clock once, when the device opens."""

    def __init__(self, context: Context, state: SessionState, dedup: DedupTable) -> None:
        super().__init__(context, state, dedup)
        self.started_at = context.now

    def is_too_old(self, sender_timestamp: int) -> bool:
        return self.started_at - sender_timestamp > self._context.limits.replay_window


class FutureOfTheStart(ClockOfTheStart):
    """Refuses what is far ahead of a clock that it read once."""

    def is_too_old(self, sender_timestamp: int) -> bool:
        return self._context.now - sender_timestamp > self._context.limits.replay_window or (
            sender_timestamp - self.started_at > self._context.limits.replay_window
        )


class NoWindow(Checks):
    def is_too_old(self, sender_timestamp: int) -> bool:  # noqa: ARG002 - that is the mistake
        return False


class RefusesOldControl(Outbox):
    """A control message keeps the stamp of the call, however long it waited."""

    def sender_timestamp(self, entry: OutboxEntry) -> int:
        return entry.sent_at


class DedupOfSession(DedupTable):
    """Knows what was handled on this Receive Session only."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.known: set[str] = set()

    def knows(self, content: Content) -> bool:
        return content.message_id in self.known

    def record(self, content: Content) -> None:
        self.known.add(content.message_id)
        super().record(content)


class ForgetsWithSession(Recipient):
    def disconnected(self) -> None:
        super().disconnected()
        if isinstance(self._dedup, DedupOfSession):
            self._dedup.known.clear()


class DedupBySession(Device):
    dedup_class = DedupOfSession
    recipient_class = ForgetsWithSession


class LooksUpOnArrival(Recipient):
    """Looks a Blob up when it arrives, while the first copy may still be with the handler."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        if isinstance(self._checks, KnownOnArrival):
            self._checks.look_up(Blob(session, blob_id, envelope))
        super().deliver(session, blob_id, envelope)


class KnownOnArrival(Checks):
    def __init__(self, context: Context, state: SessionState, dedup: DedupTable) -> None:
        super().__init__(context, state, dedup)
        self.duplicates: set[str] = set()

    def look_up(self, blob: Blob) -> None:
        readable = self.check_version(blob) is None and self.check_decrypts(blob) is None
        if readable and self._dedup.knows(blob.content):
            self.duplicates.add(blob.blob_id)

    def check_duplicate(self, blob: Blob) -> Verdict | None:
        return Drop(None) if blob.blob_id in self.duplicates else None


class DedupOnArrival(Device):
    checks_class = KnownOnArrival
    recipient_class = LooksUpOnArrival


MUTANTS = (
    Mutant("window-excludes-60-days", "RPW-001", "refuses what is exactly 60 days old", with_checks(ExcludesTheEnd)),
    Mutant("window-in-seconds", "RPW-001", "counts whole seconds, so 999 ms too many pass", with_checks(CountsSeconds)),
    Mutant("window-in-days", "RPW-001", "counts whole days, so nearly a day too much passes", with_checks(CountsDays)),
    Mutant("window-30-days", "RPW-001", "refuses what is older than 30 days", ThirtyDayWindow),
    Mutant("window-silent", "RPW-001", "drops what is too old without an issue", with_checks(Silent)),
    Mutant("window-sync-only", "RPW-001", "lets old control messages in", with_checks(SyncOnly)),
    Mutant("window-both-ways", "RPW-002", "refuses what is more than 60 days ahead", with_checks(BothWays)),
    Mutant("future-10-minutes", "RPW-002", "refuses what is more than 10 minutes ahead", with_checks(FutureByMinutes)),
    Mutant("future-refused", "RPW-002", "refuses what is ahead at all", with_checks(NoFuture)),
    Mutant("window-clock-of-start", "RPW-003", "judges by the clock at its start", with_checks(ClockOfTheStart)),
    Mutant(
        "future-of-the-start",
        "RPW-005",
        "takes what is stamped 60 days after its own start for a message from the future",
        with_checks(FutureOfTheStart),
    ),
    Mutant("no-window", "RPW-004", "has no Replay Window, so a late copy outlives its record", with_checks(NoWindow)),
    Mutant(
        "control-stamped-at-call",
        "RPW-005",
        "keeps the stamp of the call on a control message, so one that waited is refused",
        with_outbox(RefusesOldControl),
    ),
    Mutant("dedup-of-session", "RPW-006", "knows what it handled on this Receive Session only", DedupBySession),
    Mutant(
        "dedup-on-arrival",
        "RPW-006",
        "looks a Blob up when it arrives, so a copy that waits behind the first is handled as well",
        DedupOnArrival,
    ),
)
