# ruff: noqa: ARG002 - a relay that deviates need not use all it is given
"""Relays that refuse, count, expire and start wrongly (RLY-009 to RLY-015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

from adapters.deviation import Mutant
from adapters.relay_parts import with_inboxes, with_quota, with_rates, with_settings_check
from reference_impl.relay.effects import Refusal, SessionClosed
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.quotas import InboxQuota, PushRates
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.sessions import ReceiveSession
from reference_impl.relay.settings import DAY, RelaySettings, SettingRefusedError, SettingsCheck
from reference_impl.relay.store import Blob, InboxSize, Store, StoreFailedError

# -- sizes


class LimitIsTooLarge(Relay):
    def is_too_large(self, frame: PushFrame) -> bool:
        return len(frame.envelope) >= self.settings.max_envelope_bytes


class OneByteMore(Relay):
    def is_too_large(self, frame: PushFrame) -> bool:
        return len(frame.envelope) > self.settings.max_envelope_bytes + 1


class CountsTheKey(Relay):
    def is_too_large(self, frame: PushFrame) -> bool:
        return len(frame.recipient) + len(frame.envelope) > self.settings.max_envelope_bytes


class KnowsTheDefaultSizeOnly(Relay):
    def is_too_large(self, frame: PushFrame) -> bool:
        return len(frame.envelope) > RelaySettings().max_envelope_bytes


class EmptyIsMalformed(Relay):
    def is_malformed(self, body: bytes) -> bool:
        return len(body) <= 32


class ShortIsPadded(Relay):
    def is_malformed(self, body: bytes) -> bool:
        return not body


class NothingIsNotMalformed(Relay):
    """A body of no bytes is taken for a keep-alive and acked."""

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        if body:
            super().judge_push(session, push, body, now)
        else:
            self.answer(session, push, None)


class Recodes(Relay):
    """Answers one code in place of another."""

    codes: ClassVar[Mapping[Refusal, Refusal | None]]

    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        super().answer(session, push, None if refusal is None else self.codes.get(refusal, refusal))


class TooLargeIsTemporary(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.TOO_LARGE: Refusal.UNAVAILABLE}


class MalformedIsTemporary(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.MALFORMED: Refusal.INTERNAL_ERROR}


class FullIsPermanent(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.INBOX_FULL: Refusal.TOO_LARGE}


class LimitedIsUnavailable(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.RATE_LIMITED: Refusal.UNAVAILABLE}


class StoreFailureIsPermanent(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.UNAVAILABLE: Refusal.MALFORMED}


class StoreFailureIsAcked(Recodes):
    codes: ClassVar[Mapping[Refusal, Refusal | None]] = {Refusal.UNAVAILABLE: None}


class NewLimitHidesOldBlobs(Inboxes):
    def is_deliverable(self, blob: Blob, now: int) -> bool:
        return super().is_deliverable(blob, now) and len(blob.envelope) <= self._settings.max_envelope_bytes


# -- quotas


class NoRoomAtTheLimit(InboxQuota):
    def too_many_blobs(self, size: InboxSize) -> bool:
        return size.blobs + 1 >= self._settings.max_blobs_per_inbox > 1


class OneBlobMore(InboxQuota):
    def too_many_blobs(self, size: InboxSize) -> bool:
        return size.blobs > self._settings.max_blobs_per_inbox


class AThousandBlobs(InboxQuota):
    def too_many_blobs(self, size: InboxSize) -> bool:
        return size.blobs >= min(self._settings.max_blobs_per_inbox, 1000)


class BytesAreNotCounted(InboxQuota):
    def too_many_bytes(self, size: InboxSize, envelope_bytes: int) -> bool:
        return False


class LastBlobMayExceed(InboxQuota):
    def too_many_bytes(self, size: InboxSize, envelope_bytes: int) -> bool:
        return size.bytes >= self._settings.max_bytes_per_inbox


class LimitIsOneByteLess(InboxQuota):
    def too_many_bytes(self, size: InboxSize, envelope_bytes: int) -> bool:
        return size.bytes + envelope_bytes >= self._settings.max_bytes_per_inbox > 1


class CountsEverPushed(Relay):
    """Counts what came in, never what went out."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.counted: dict[bytes, int] = {}
        super().__init__(store, settings, now)

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        blob = super().store_push(frame, now)
        self.counted[frame.recipient] = self.counted.get(frame.recipient, 0) + 1
        return blob

    def is_inbox_full(self, frame: PushFrame) -> bool:
        size = InboxSize(self.counted.get(frame.recipient, 0), self.inboxes.size(frame.recipient).bytes)
        return self.quota.is_full_for(size, len(frame.envelope))


class ExpiryFreesNothing(CountsEverPushed):
    def delete_acked(self, blob: Blob) -> None:
        super().delete_acked(blob)
        self.counted[blob.recipient] = self.counted.get(blob.recipient, 1) - 1


class ExpiredBytesStayCounted(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.lost_bytes = 0
        super().__init__(store, settings, now)

    def reap(self, now: int) -> None:
        self.lost_bytes += sum(len(blob.envelope) for blob in self.inboxes.expired(now))
        super().reap(now)

    def is_inbox_full(self, frame: PushFrame) -> bool:
        size = self.inboxes.size(frame.recipient)
        counted = InboxSize(size.blobs, size.bytes + self.lost_bytes)
        return self.quota.is_full_for(counted, len(frame.envelope))


class CountsFromZeroAfterRestart(CountsEverPushed):
    def is_inbox_full(self, frame: PushFrame) -> bool:
        return self.counted.get(frame.recipient, 0) >= self.settings.max_blobs_per_inbox


class EachAckFreesAPlace(CountsEverPushed):
    """Counts down for each ack that comes, whether or not it deletes."""

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        super().apply_ack(session, blob_id)
        self.counted[session.device] = self.counted.get(session.device, 0) - 1


class AnAckFreesAllBytes(CountsEverPushed):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.forgiven: dict[bytes, int] = {}
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        super().delete_acked(blob)
        self.forgiven[blob.recipient] = self.inboxes.size(blob.recipient).bytes

    def is_inbox_full(self, frame: PushFrame) -> bool:
        size = self.inboxes.size(frame.recipient)
        counted = InboxSize(size.blobs, size.bytes - self.forgiven.get(frame.recipient, 0))
        return self.quota.is_full_for(counted, len(frame.envelope))


class DeliveredCountsNoMore(Relay):
    """What is on a device's session needs no place in its inbox."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.under_way: set[int] = set()
        super().__init__(store, settings, now)

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        super().deliver(session, blob)
        self.under_way.add(blob.blob_id)

    def is_inbox_full(self, frame: PushFrame) -> bool:
        waiting = [blob for blob in self.store.inbox(frame.recipient) if blob.blob_id not in self.under_way]
        size = InboxSize(len(waiting), sum(len(blob.envelope) for blob in waiting))
        return self.quota.is_full_for(size, len(frame.envelope))


class OneQuotaForAll(Relay):
    def is_inbox_full(self, frame: PushFrame) -> bool:
        stored = list(self.store.all_blobs())
        size = InboxSize(len(stored), sum(len(blob.envelope) for blob in stored))
        return self.quota.is_full_for(size, len(frame.envelope))


class AnyAckFreesAPlace(CountsEverPushed):
    """The count of every inbox goes down with an ack of whatever device."""

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        super().apply_ack(session, blob_id)
        self.counted = {device: count - 1 for device, count in self.counted.items()}


class RefusedBytesCount(CountsEverPushed):
    """Takes the room of a push before it decides, and does not give it back."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.taken = 0
        super().__init__(store, settings, now)

    def is_inbox_full(self, frame: PushFrame) -> bool:
        size = self.inboxes.size(frame.recipient)
        full = self.quota.is_full_for(InboxSize(size.blobs, size.bytes + self.taken), len(frame.envelope))
        self.taken += len(frame.envelope) if full else 0
        return full


class FailedPushesCount(CountsEverPushed):
    def store_push(self, frame: PushFrame, now: int) -> Blob:
        try:
            return super().store_push(frame, now)
        except StoreFailedError:
            self.counted[frame.recipient] = self.counted.get(frame.recipient, 0) + 1
            raise


class NoQuota(Relay):
    def is_inbox_full(self, frame: PushFrame) -> bool:
        return False


# -- rates


class NoRates(PushRates):
    def allows(self, recipient: bytes, now: int) -> bool:
        return True


class OneMoreThanTheBurst(PushRates):
    def capacity(self) -> int:
        return super().capacity() + 1000


class OneBucketForAll(PushRates):
    def bucket_key(self, recipient: bytes) -> bytes:
        return b""


class NeverRefills(PushRates):
    def refill(self, elapsed: int) -> int:
        return 0


class RefillsTwice(PushRates):
    def refill(self, elapsed: int) -> int:
        return 2 * super().refill(elapsed)


class RefillsAtHalfTime(PushRates):
    """Rounds what has flown in to whole pushes."""

    def refill(self, elapsed: int) -> int:
        return (super().refill(elapsed) + 500) // 1000 * 1000


class FillsWithoutEnd(PushRates):
    def level(self, recipient: bytes, now: int) -> int:
        bucket = self._buckets.get(recipient)
        return self.capacity() if bucket is None else bucket.level + self.refill(now - bucket.filled_at)


class BurstOfAHundred(PushRates):
    def capacity(self) -> int:
        return min(super().capacity(), 100_000)


class AcksFillTheBucket(Relay):
    def delete_acked(self, blob: Blob) -> None:
        super().delete_acked(blob)
        self.rates = self.create_rates()


class BucketOfASession(Relay):
    """Counts pushes by the Push Session that they come on."""

    session = ""

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        self.session = session
        super().judge_push(session, push, body, now)

    def create_rates(self) -> PushRates:
        return _RatesBy(self.settings, lambda: self.session)


class _RatesBy(PushRates):
    def __init__(self, settings: RelaySettings, name: Callable[[], str]) -> None:
        super().__init__(settings)
        self._name = name

    def bucket_key(self, recipient: bytes) -> bytes:
        return recipient + self._name().encode()


# -- a store that fails, and a session that goes on


class DeliversBeforeStoring(Relay):
    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.deliver_new(Blob(2**60 + push, 0, frame.recipient, frame.envelope, now))
        super().accept(session, push, frame, now)


class KeepsFailedPushesForLater(Relay):
    """Refuses, and writes the push once the store works again."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.kept: list[PushFrame] = []
        super().__init__(store, settings, now)

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        try:
            blob = super().store_push(frame, now)
        except StoreFailedError:
            self.kept.append(frame)
            raise
        while self.kept:
            super().store_push(self.kept.pop(), now)
        return blob


class StaysReadOnly(Relay):
    broken = False

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        if self.broken:
            raise StoreFailedError("The store failed before.")
        try:
            return super().store_push(frame, now)
        except StoreFailedError:
            self.broken = True
            raise


class StartsAfreshOnFailure(Relay):
    """Takes a store that fails for a damaged one, and clears it."""

    def code_for_store_failure(self) -> Refusal:
        self.store.failing = False
        self.inboxes.delete(list(self.store.all_blobs()))
        self.store.failing = True
        return super().code_for_store_failure()


class FailedAckEmptiesTheInbox(Relay):
    """An ack that cannot be written drops the device's blobs from the cache that is delivered from."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.dropped: set[int] = set()
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        self.dropped |= {each.blob_id for each in self.store.inbox(blob.recipient)}
        super().delete_acked(blob)
        self.dropped.clear()

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.blob_id not in self.dropped:
            super().deliver(session, blob)


class RefusalEndsThePushSession(Relay):
    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        super().answer(session, push, refusal)
        if refusal is not None:
            self.sessions.close_pushing(session)
            self.emit(SessionClosed(session))


class RefusesAfterStoring(Relay):
    """Stores first and checks the quotas when it answers."""

    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.deliver_new(self.store_push(frame, now))

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        before = len(self._effects)
        super().judge_push(session, push, body, now)
        if len(self._effects) > before and self._refused(before):
            if len(body) >= 32:
                self.store_push(PushFrame(body[:32], body[32:]), now)
            return
        self.answer(session, push, None)

    def _refused(self, before: int) -> bool:
        return bool(getattr(self._effects[before], "refusal", None))


class RefusalEndsReceiveSessions(Relay):
    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        super().answer(session, push, refusal)
        if refusal is not None:
            for each in list(self.sessions._receiving.values()):
                self.end_session(each)


class SilentWhere(Relay):
    """Drops what it does not like without an answer."""

    silent: frozenset[Refusal | None]

    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        if refusal not in self.silent:
            super().answer(session, push, refusal)


class SilentOnMalformed(SilentWhere):
    silent = frozenset({Refusal.MALFORMED})


class SilentOnTooLarge(SilentWhere):
    silent = frozenset({Refusal.TOO_LARGE})


class AnswersInPairs(Relay):
    """Waits for a second push before it writes to the disk."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.waiting: list[tuple[str, int, Refusal | None]] = []
        super().__init__(store, settings, now)

    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        self.waiting.append((session, push, refusal))
        if len(self.waiting) == 2:
            for each in self.waiting:
                super().answer(*each)
            self.waiting = []


class RefusalsOvertake(Relay):
    """The ack of a large push waits for what comes next on the session; a refusal does not wait."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.late: list[tuple[str, int]] = []
        self.large = False
        super().__init__(store, settings, now)

    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.large = len(frame.envelope) == 40_000
        super().accept(session, push, frame, now)

    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        if refusal is None and self.large:
            self.late.append((session, push))
            return
        super().answer(session, push, refusal)
        while self.late:
            super().answer(*self.late.pop(), None)


# -- time


class NeverExpires(Inboxes):
    def is_expired(self, blob: Blob, now: int) -> bool:
        return False

    def next_expiry(self) -> int | None:
        return None


class ExpiresASecondEarly(Inboxes):
    def expires_at(self, blob: Blob) -> int:
        return super().expires_at(blob) - 1000


class IgnoresTheSetTtl(Inboxes):
    def expires_at(self, blob: Blob) -> int:
        return blob.arrived_at + 30 * DAY


class DeliveryProlongs(Relay):
    """A blob that is sent again lives another TTL."""

    def deliver_waiting(self, session: ReceiveSession, now: int) -> None:
        super().deliver_waiting(session, now)
        waiting = self.inboxes.waiting(session.device, now)
        self.inboxes.delete(waiting)
        with self.store.transaction():
            for blob in waiting:
                self.store.add(replace(blob, arrived_at=now))


class RestartProlongs(Inboxes):
    """Times are kept as uptime: what was there at the start counts from the start."""

    start: int | None = None

    def expires_at(self, blob: Blob) -> int:
        return max(blob.arrived_at, self.start or 0) + self._settings.ttl


class TimesFromTheStart(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.started = now
        super().__init__(store, settings, now)

    def create_inboxes(self) -> Inboxes:
        inboxes = RestartProlongs(self.store, self.settings)
        inboxes.start = self.started
        return inboxes


class DeliveredNeverExpires(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.under_way: dict[int, Blob] = {}
        super().__init__(store, settings, now)

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        super().deliver(session, blob)
        self.under_way[blob.blob_id] = blob

    def delete_acked(self, blob: Blob) -> None:
        self.under_way.pop(blob.blob_id, None)
        super().delete_acked(blob)

    def deliver_waiting(self, session: ReceiveSession, now: int) -> None:
        super().deliver_waiting(session, now)
        for blob in list(self.under_way.values()):
            if blob.recipient == session.device:
                self.deliver_once(session, blob)


class InboxesExpireWhole(Inboxes):
    """When the oldest blob expires, the inbox is dropped."""

    def is_deliverable(self, blob: Blob, now: int) -> bool:
        return not any(self.is_expired(each, now) for each in self._store.inbox(blob.recipient))

    def expired(self, now: int) -> list[Blob]:
        recipients = {blob.recipient for blob in super().expired(now)}
        return [blob for blob in self._store.all_blobs() if blob.recipient in recipients]


class ExpiryEndsTheSession(Relay):
    def reap(self, now: int) -> None:
        for blob in self.inboxes.expired(now):
            for session in self.sessions.of_device(blob.recipient):
                self.end_session(session)
        super().reap(now)


class ExpiryGivesUp(Relay):
    """A deletion that failed is not tried again, and what is delivered is what is stored."""

    gave_up = False

    def reap(self, now: int) -> None:
        if self.gave_up:
            return
        super().reap(now)
        self.gave_up = self.reap_not_before > now

    def next_timer(self) -> int | None:
        return None if self.gave_up else super().next_timer()

    def deliver_waiting(self, session: ReceiveSession, now: int) -> None:
        for blob in self.store.inbox(session.device):
            self.deliver_once(session, blob)


# -- settings


class NoCeiling(SettingsCheck):
    def ttl_ceiling(self) -> int:
        return 2**62


class CeilingIsTooMuch(SettingsCheck):
    def ttl_ceiling(self) -> int:
        return super().ttl_ceiling() - 1


class ClampsTheTtl(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        super().__init__(store, replace(settings, ttl=min(settings.ttl, 30 * DAY)), now)


class AWeekByDefault(Inboxes):
    def expires_at(self, blob: Blob) -> int:
        ttl = self._settings.ttl
        return blob.arrived_at + (7 * DAY if ttl == 30 * DAY else ttl)


class RefusalClearsTheStore(Relay):
    """Starts from nothing after a start that it refused."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        try:
            super().__init__(store, settings, now)
        except SettingRefusedError:
            with store.transaction():
                for blob in list(store.all_blobs()):
                    store.remove(blob)
            raise


MUTANTS = (
    Mutant("relay-limit-is-too-large", "RLY-009", "refuses an envelope of exactly the limit", LimitIsTooLarge),
    Mutant("relay-one-byte-more", "RLY-009", "takes one byte more than the limit", OneByteMore),
    Mutant("relay-counts-the-key", "RLY-009", "counts the recipient's key as envelope", CountsTheKey),
    Mutant("relay-knows-the-default-size-only", "RLY-009", "ignores a lower limit", KnowsTheDefaultSizeOnly),
    Mutant("relay-empty-is-malformed", "RLY-009", "refuses a body of exactly 32 bytes", EmptyIsMalformed),
    Mutant("relay-short-is-padded", "RLY-009", "takes a body that names no recipient", ShortIsPadded),
    Mutant("relay-nothing-is-not-malformed", "RLY-009", "acks a body of no bytes", NothingIsNotMalformed),
    Mutant("relay-too-large-is-temporary", "RLY-009", "refuses as unavailable what is too large", TooLargeIsTemporary),
    Mutant("relay-malformed-is-temporary", "RLY-009", "refuses as internal error", MalformedIsTemporary),
    Mutant(
        "relay-new-limit-hides-old-blobs",
        "RLY-009",
        "does not deliver what is over a later limit",
        with_inboxes(NewLimitHidesOldBlobs),
    ),
    Mutant("relay-full-is-permanent", "RLY-010", "refuses as too large when an inbox is full", FullIsPermanent),
    Mutant(
        "relay-limited-is-unavailable", "RLY-010", "refuses as unavailable what comes too fast", LimitedIsUnavailable
    ),
    Mutant("relay-no-room-at-the-limit", "RLY-010", "takes one blob less", with_quota(NoRoomAtTheLimit)),
    Mutant("relay-one-blob-more", "RLY-010", "takes one blob more", with_quota(OneBlobMore)),
    Mutant("relay-a-thousand-blobs", "RLY-010", "takes 1,000 blobs by default", with_quota(AThousandBlobs)),
    Mutant("relay-bytes-are-not-counted", "RLY-010", "counts blobs only", with_quota(BytesAreNotCounted)),
    Mutant("relay-last-blob-may-exceed", "RLY-010", "lets the last blob exceed", with_quota(LastBlobMayExceed)),
    Mutant("relay-limit-is-one-byte-less", "RLY-010", "takes one byte less", with_quota(LimitIsOneByteLess)),
    Mutant("relay-counts-ever-pushed", "RLY-010", "does not count down when blobs go", CountsEverPushed),
    Mutant("relay-expiry-frees-nothing", "RLY-010", "does not count down when blobs expire", ExpiryFreesNothing),
    Mutant("relay-expired-bytes-stay-counted", "RLY-010", "keeps counting expired bytes", ExpiredBytesStayCounted),
    Mutant("relay-counts-from-zero-after-restart", "RLY-010", "forgets its counts", CountsFromZeroAfterRestart),
    Mutant("relay-each-ack-frees-a-place", "RLY-008", "counts down for needless acks", EachAckFreesAPlace),
    Mutant("relay-an-ack-frees-all-bytes", "RLY-010", "counts bytes from 0 after an ack", AnAckFreesAllBytes),
    Mutant("relay-delivered-counts-no-more", "RLY-010", "counts what was not sent yet", DeliveredCountsNoMore),
    Mutant("relay-one-quota-for-all", "RLY-010", "counts all inboxes as one", OneQuotaForAll),
    Mutant("relay-any-ack-frees-a-place", "RLY-007", "counts every inbox down for an ack", AnyAckFreesAPlace),
    Mutant("relay-refused-bytes-count", "RLY-010", "counts bytes that it refused", RefusedBytesCount),
    Mutant("relay-failed-pushes-count", "RLY-011", "counts pushes that it could not store", FailedPushesCount),
    Mutant("relay-no-quota", "RLY-010", "takes whatever comes", NoQuota),
    Mutant("relay-no-rates", "RLY-010", "takes pushes however fast", with_rates(NoRates)),
    Mutant("relay-one-more-than-the-burst", "RLY-010", "takes one push more", with_rates(OneMoreThanTheBurst)),
    Mutant("relay-one-bucket-for-all", "RLY-010", "limits all recipients together", with_rates(OneBucketForAll)),
    Mutant("relay-never-refills", "RLY-010", "never fills a bucket", with_rates(NeverRefills)),
    Mutant("relay-refills-twice", "RLY-010", "fills a bucket at twice the rate", with_rates(RefillsTwice)),
    Mutant("relay-refills-at-half-time", "RLY-010", "rounds up what flows in", with_rates(RefillsAtHalfTime)),
    Mutant("relay-fills-without-end", "RLY-010", "fills a bucket over its burst", with_rates(FillsWithoutEnd)),
    Mutant("relay-burst-of-a-hundred", "RLY-010", "has a burst of 100 by default", with_rates(BurstOfAHundred)),
    Mutant("relay-acks-fill-the-bucket", "RLY-010", "fills the bucket when a blob is acked", AcksFillTheBucket),
    Mutant("relay-bucket-of-a-session", "RLY-010", "limits each Push Session", BucketOfASession),
    Mutant("relay-store-failure-is-permanent", "RLY-011", "refuses as malformed", StoreFailureIsPermanent),
    Mutant("relay-store-failure-is-acked", "RLY-011", "acks what it could not store", StoreFailureIsAcked),
    Mutant("relay-delivers-before-storing", "RLY-011", "delivers what it then cannot store", DeliversBeforeStoring),
    Mutant("relay-keeps-failed-pushes", "RLY-012", "stores later what it refused", KeepsFailedPushesForLater),
    Mutant("relay-stays-read-only", "RLY-011", "takes nothing more after one failure", StaysReadOnly),
    Mutant("relay-starts-afresh-on-failure", "RLY-011", "clears its store when it fails", StartsAfreshOnFailure),
    Mutant("relay-failed-ack-empties-the-inbox", "RLY-011", "hides an inbox", FailedAckEmptiesTheInbox),
    Mutant("relay-refusal-ends-the-push-session", "RLY-012", "hangs up on a refusal", RefusalEndsThePushSession),
    Mutant("relay-refuses-after-storing", "RLY-012", "stores what it refuses", RefusesAfterStoring),
    Mutant("relay-refusal-ends-receive-sessions", "RLY-012", "ends sessions of devices", RefusalEndsReceiveSessions),
    Mutant("relay-silent-on-malformed", "RLY-013", "does not answer a malformed push", SilentOnMalformed),
    Mutant("relay-silent-on-too-large", "RLY-013", "does not answer a push that is too large", SilentOnTooLarge),
    Mutant("relay-answers-in-pairs", "RLY-013", "answers a push when the next one came", AnswersInPairs),
    Mutant("relay-refusals-overtake", "RLY-013", "answers small pushes before a large one", RefusalsOvertake),
    Mutant("relay-never-expires", "RLY-014", "keeps blobs for ever", with_inboxes(NeverExpires)),
    Mutant("relay-expires-early", "RLY-014", "deletes a second early", with_inboxes(ExpiresASecondEarly)),
    Mutant("relay-ignores-the-set-ttl", "RLY-014", "keeps blobs 30 days in any case", with_inboxes(IgnoresTheSetTtl)),
    Mutant("relay-delivery-prolongs", "RLY-014", "counts the TTL from the last delivery", DeliveryProlongs),
    Mutant("relay-restart-prolongs", "RLY-014", "counts the TTL from its start", TimesFromTheStart),
    Mutant("relay-delivered-never-expires", "RLY-014", "keeps what it has sent once", DeliveredNeverExpires),
    Mutant("relay-inboxes-expire-whole", "RLY-014", "drops an inbox with its oldest", with_inboxes(InboxesExpireWhole)),
    Mutant("relay-expiry-ends-the-session", "RLY-014", "tells by ending the session", ExpiryEndsTheSession),
    Mutant("relay-expiry-gives-up", "RLY-014", "does not try a failed deletion again", ExpiryGivesUp),
    Mutant("relay-no-ceiling", "RLY-015", "starts with any TTL", with_settings_check(NoCeiling)),
    Mutant("relay-ceiling-is-too-much", "RLY-015", "refuses exactly 30 days", with_settings_check(CeilingIsTooMuch)),
    Mutant("relay-clamps-the-ttl", "RLY-015", "takes a longer TTL for 30 days", ClampsTheTtl),
    Mutant("relay-a-week-by-default", "RLY-015", "has a TTL of 7 days by default", with_inboxes(AWeekByDefault)),
    Mutant("relay-refusal-clears-the-store", "RLY-021", "clears what it did not start on", RefusalClearsTheStore),
)
