"""Devices that send at the wrong time: retries, expiry, Sender Timestamps (SND-010 to SND-012, SND-016 to SND-019)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import replace

from adapters.deviation import Mutant, with_outbox
from reference_impl.device.backoff import Backoff
from reference_impl.device.limits import DAY, MINUTE, SECOND
from reference_impl.device.outbox import Lane, Outbox
from reference_impl.device.store import Kind, OutboxEntry

# -- retries


class ReconnectWaits(Outbox):
    def connected(self) -> None:
        for lane in self._lanes.values():
            if lane.retry_at is None and lane.backoff.failures:
                lane.retry_at = self._context.now + lane.backoff.delay(lane.backoff.failures)
        self.pump()


class ReconnectRetriesOne(Outbox):
    """On reconnect only the first recipient's queue is woken; the others wait a little."""

    def connected(self) -> None:
        for lane in list(self._lanes.values())[1:]:
            lane.retry_at = self._context.now + SECOND
        self.pump()


def _backing_off(waits: type[Backoff]) -> type[Outbox]:
    class BacksOff(Outbox):
        backoff_class = waits

    return BacksOff


class EverySecond(Backoff):
    def delay(self, failures: int) -> int:  # noqa: ARG002 - always the same
        return SECOND


class Linear(Backoff):
    def delay(self, failures: int) -> int:
        return min(failures * SECOND, self._maximum)


class CappedAtAMinute(Backoff):
    def delay(self, failures: int) -> int:
        return min(super().delay(failures), MINUTE)


class CappedAtAnHour(Backoff):
    def delay(self, failures: int) -> int:
        return min(SECOND << min(failures - 1, 20), 60 * MINUTE)


class TenthOfASecond(Backoff):
    def delay(self, failures: int) -> int:
        return min(super().delay(failures), self._maximum) // 10


class AlwaysFiveMinutes(Backoff):
    def delay(self, failures: int) -> int:  # noqa: ARG002 - always the same
        return self._maximum


class GivesUpTrying(Backoff):
    """Twenty attempts, then the next start."""

    def delay(self, failures: int) -> int:
        return super().delay(failures) if failures < 20 else 365 * DAY


class SuccessKeepsBackoff(Outbox):
    def delivered(self, lane: Lane, entry: OutboxEntry) -> None:  # noqa: ARG002 - no lane is reset
        self.remove([entry])
        self.pump()


class SuccessWakesEveryone(Outbox):
    def delivered(self, lane: Lane, entry: OutboxEntry) -> None:
        for each in self._lanes.values():
            each.retry_at = None
        super().delivered(lane, entry)


# -- expiry


class NeverExpires(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:  # noqa: ARG002 - nothing does
        return None


class ExpiresADayEarly(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        moment = super().expires_at(entry)
        return None if moment is None else moment - DAY


class ExpiresASecondEarly(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        moment = super().expires_at(entry)
        return None if moment is None else moment - SECOND


class ExpiresADayLate(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        moment = super().expires_at(entry)
        return None if moment is None else moment + DAY


class ExpiryFromStart(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        return self._context.now + self._context.limits.outbox_expiry if entry.kind == "sync" else None


class ExpiryFromLastTry(Outbox):
    def push(self, lane: Lane, entry: OutboxEntry) -> None:
        super().push(lane, entry)
        key = (entry.sequence, entry.recipient)
        self._expiries = [each for each in self._expiries if each[1:] != key]
        if entry.kind == "sync":
            self._expiries.append((self._context.now + self._context.limits.outbox_expiry, *key))
        heapq.heapify(self._expiries)


class ExpiresConnectedOnly(Outbox):
    def tick(self) -> None:
        if self._connection.usable:
            super().tick()

    def next_timer(self) -> int | None:
        return super().next_timer() if self._connection.usable else None


class ExpiredOnlyAtStart(Outbox):
    def tick(self) -> None:
        if self._connection.usable:
            self.pump()

    def next_timer(self) -> int | None:
        self._expiries.clear()
        return super().next_timer()


class ExpiresSilently(Outbox):
    def expire(self) -> None:
        while self._expiries and self.is_expired(self._expiries[0][0]):
            _, sequence, recipient = heapq.heappop(self._expiries)
            entry = self._live.get((sequence, recipient))
            if entry is not None:
                self.remove([entry])


class ExpiredStaysInStore(Outbox):
    def remove(self, entries: list[OutboxEntry]) -> None:
        expired = [entry for entry in entries if self._context.now - entry.sent_at >= 30 * DAY]
        if entries == expired and entries[0].kind == "sync":
            self.forget(entries)
        else:
            super().remove(entries)


class DeliveredExpires(Outbox):
    def next_timer(self) -> int | None:
        return min((each[0] for each in self._expiries), default=None) or super().next_timer()

    def forget(self, entries: Iterable[OutboxEntry]) -> None:
        gone = list(entries)
        super().forget(gone)
        self._done = [*getattr(self, "_done", ()), *gone]

    def expire(self) -> None:
        late = [entry for entry in getattr(self, "_done", ()) if self._context.now - entry.sent_at >= 30 * DAY]
        self._done = [entry for entry in getattr(self, "_done", ()) if entry not in late]
        super().expire()
        if late:
            self.fail(late, "expired")


class ExpiryDropsTheQueue(Outbox):
    def expire(self) -> None:
        before = self.unsent()
        super().expire()
        left = self.unsent()
        lanes = {entry.recipient for entry in before if entry not in left}
        self.remove([entry for entry in left if entry.recipient in lanes])


class ExpiredBlocks(Outbox):
    """The place of an expired entry is never freed."""

    def expire(self) -> None:
        before = self.unsent()
        super().expire()
        for entry in before:
            if entry not in self.unsent():
                self._lane(entry.recipient).in_flight = -1

    def disconnected(self) -> None:
        blocked = [lane for lane in self._lanes.values() if lane.in_flight == -1]
        super().disconnected()
        for lane in blocked:
            lane.in_flight = -1


def _expiring(kind: Kind) -> type[Outbox]:
    """An outbox in which control entries of that kind expire like messages."""

    class ControlExpires(Outbox):
        def expires_at(self, entry: OutboxEntry) -> int | None:
            return super().expires_at(replace(entry, kind="sync") if entry.kind == kind else entry)

    return ControlExpires


# -- Sender Timestamps


class StampedAtPush(Outbox):
    def sender_timestamp(self, entry: OutboxEntry) -> int:  # noqa: ARG002 - whatever it is
        return self._context.now


class StampedAtStart(Outbox):
    def load(self) -> None:
        self.queue([replace(entry, sent_at=self._context.now) for entry in self._context.store.outbox()])


class StampedAtFirstPush(Outbox):
    def sender_timestamp(self, entry: OutboxEntry) -> int:
        stamps: dict[str, int] = getattr(self, "_stamps", {})
        self._stamps = stamps
        return stamps.setdefault(entry.message_id, self._context.now)


class ControlStampedOnce(Outbox):
    def sender_timestamp(self, entry: OutboxEntry) -> int:
        return entry.sent_at


class ControlStampedAtFirstPush(StampedAtFirstPush):
    def sender_timestamp(self, entry: OutboxEntry) -> int:
        return entry.sent_at if entry.kind == "sync" else super().sender_timestamp(entry)


_OUTBOXES: tuple[tuple[str, str, str, type[Outbox]], ...] = (
    ("reconnect-waits", "SND-010", "waits for the backoff after a reconnect", ReconnectWaits),
    ("reconnect-retries-one", "SND-010", "retries one recipient only on reconnect", ReconnectRetriesOne),
    ("retries-every-second", "SND-011", "retries once a second for ever", _backing_off(EverySecond)),
    ("linear-backoff", "SND-011", "adds a second to each pause", _backing_off(Linear)),
    ("backoff-capped-at-a-minute", "SND-011", "never pauses longer than a minute", _backing_off(CappedAtAMinute)),
    ("backoff-capped-at-an-hour", "SND-011", "lets pauses grow to an hour", _backing_off(CappedAtAnHour)),
    ("first-retry-after-100ms", "SND-011", "starts at a tenth of a second", _backing_off(TenthOfASecond)),
    ("always-five-minutes", "SND-011", "starts with the longest pause", _backing_off(AlwaysFiveMinutes)),
    ("stops-trying", "SND-011", "stops after twenty attempts until the next start", _backing_off(GivesUpTrying)),
    ("success-keeps-backoff", "SND-012", "goes on with the grown pause after a success", SuccessKeepsBackoff),
    ("success-wakes-everyone", "SND-011", "retries everyone at once after one's success", SuccessWakesEveryone),
    ("never-expires", "SND-016", "never gives a message up", NeverExpires),
    ("expires-a-day-early", "SND-016", "gives up after 29 days", ExpiresADayEarly),
    ("expires-a-second-early", "SND-016", "gives up a second before the 30 days are over", ExpiresASecondEarly),
    ("expires-a-day-late", "SND-016", "gives up after 31 days", ExpiresADayLate),
    ("expiry-from-start", "SND-016", "counts the 30 days from the last start", ExpiryFromStart),
    ("expiry-from-last-try", "SND-016", "counts the 30 days from the last push", ExpiryFromLastTry),
    ("expires-connected-only", "SND-016", "gives up only while it is connected", ExpiresConnectedOnly),
    ("expires-at-start-only", "SND-016", "looks for expired entries at the start only", ExpiredOnlyAtStart),
    ("expires-silently", "SND-016", "removes an expired entry without an issue", ExpiresSilently),
    ("expired-stays-in-store", "SND-016", "reports an expired entry and leaves it in the store", ExpiredStaysInStore),
    ("delivered-expires", "SND-016", "reports what was delivered as expired", DeliveredExpires),
    ("expiry-drops-the-queue", "SND-030", "drops what is behind an expired entry", ExpiryDropsTheQueue),
    ("expired-blocks", "SND-030", "never pushes what is behind an expired entry", ExpiredBlocks),
    ("manifest-expires", "SND-017", "lets a Group Manifest expire", _expiring("manifest")),
    ("leave-expires", "SND-017", "lets a Leave expire", _expiring("leave")),
    ("revoke-expires", "SND-017", "lets a Revoke expire", _expiring("revoke")),
    ("pair-expires", "SND-017", "lets a Pair expire", _expiring("pair")),
    ("stamped-at-push", "SND-018", "stamps a message at each push", StampedAtPush),
    ("stamped-at-first-push", "SND-018", "stamps a message when it is first pushed", StampedAtFirstPush),
    ("stamped-at-start", "SND-018", "stamps queued messages anew at the start", StampedAtStart),
    ("control-stamped-when-queued", "SND-019", "stamps a control message when it is queued", ControlStampedOnce),
    ("control-stamped-at-first-push", "SND-019", "keeps a control message's first stamp", ControlStampedAtFirstPush),
)

MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(name, breaks, does, with_outbox(outbox)) for name, breaks, does, outbox in _OUTBOXES
)
