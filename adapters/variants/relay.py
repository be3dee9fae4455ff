"""Relays that are right and not like the reference: ids, sessions, order of answers, expiry, quotas, writes."""

from __future__ import annotations

from dataclasses import replace

from adapters.deviation import Variant
from adapters.relay_parts import with_inboxes, with_rates, with_sessions
from reference_impl.relay.effects import Deliver, Effect, Refusal
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.quotas import PushRates
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.sessions import ReceiveSession, Sessions
from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import Blob, Store, StoreFailedError

HOUR = 60 * 60 * 1000
U64 = 2**64
SCATTER = 0x9E3779B97F4A7C15
"""Odd, so that multiplying by it goes through every u64 once, and back by its inverse."""

# -- blob ids


class NamesBlobs(Relay):
    """Devices see other ids than the store."""

    def outer(self, session: ReceiveSession, blob_id: int) -> int:
        raise NotImplementedError

    def inner(self, session: ReceiveSession, blob_id: int) -> int:
        raise NotImplementedError

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        self.emit(Deliver(session.name, self.outer(session, blob.blob_id), blob.envelope))

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        super().apply_ack(session, self.inner(session, blob_id))


class ScatteredIds(NamesBlobs):
    def outer(self, session: ReceiveSession, blob_id: int) -> int:  # noqa: ARG002 - the same on each session
        return blob_id * SCATTER % U64

    def inner(self, session: ReceiveSession, blob_id: int) -> int:  # noqa: ARG002
        return blob_id * pow(SCATTER, -1, U64) % U64


class DescendingIds(NamesBlobs):
    def outer(self, session: ReceiveSession, blob_id: int) -> int:  # noqa: ARG002 - the same on each session
        return U64 - 1 - blob_id

    def inner(self, session: ReceiveSession, blob_id: int) -> int:  # noqa: ARG002
        return U64 - 1 - blob_id


class IdsOfTheSession(NamesBlobs):
    """A blob has another id on each session, and an ack counts on the session of its id alone."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.numbers: dict[str, int] = {}
        super().__init__(store, settings, now)

    def outer(self, session: ReceiveSession, blob_id: int) -> int:
        number = self.numbers.setdefault(session.name, len(self.numbers) + 1)
        return number << 40 | blob_id

    def inner(self, session: ReceiveSession, blob_id: int) -> int:
        number, inner = divmod(blob_id, 1 << 40)
        return inner if number == self.numbers.get(session.name) else 0


class IdsOfTheInbox(NamesBlobs):
    """Each inbox counts for itself, from the last arrival before the start: two inboxes use the same ids."""

    def create_inboxes(self) -> Inboxes:
        return _CountingInboxes(self.store, self.settings)

    def outer(self, session: ReceiveSession, blob_id: int) -> int:  # noqa: ARG002 - the same on each session
        return blob_id & 0xFFFFFFFF

    def inner(self, session: ReceiveSession, blob_id: int) -> int:
        return _inbox_number(session.device) | blob_id if blob_id < 1 << 32 else 0


class _CountingInboxes(Inboxes):
    def __init__(self, store: Store, settings: RelaySettings) -> None:
        super().__init__(store, settings)
        self._first = 0
        self._counts: dict[bytes, int] = {}

    def put(self, recipient: bytes, envelope: bytes, now: int) -> Blob:
        with self._store.transaction():
            arrival = self._store.take_arrival()
            self._first = self._first or arrival
            count = self._counts[recipient] = self._counts.get(recipient, -1) + 1
            blob = Blob(_inbox_number(recipient) | self._first + count, arrival, recipient, envelope, now)
            self._store.add(blob)
        return blob


def _inbox_number(device: bytes) -> int:
    return int.from_bytes(device[:4], "big") << 32


# -- sessions


class DeliversBeforeTheAck(Relay):
    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.deliver_new(self.store_push(frame, now))
        self.answer(session, push, None)


class NewestSessionGetsIt(Relay):
    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient)[-1:]:
            self.deliver_once(session, blob)


class OldestSessionGetsIt(Relay):
    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient)[:1]:
            self.deliver_once(session, blob)


class EndHandsOver(OldestSessionGetsIt):
    """What only the session that ended was sent goes to one that is still open."""

    now = 0

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.now = now
        return super().open_receive_session(session, device, now)

    def close_receive_session(self, session: str) -> list[Effect]:
        ended = self.sessions.receiving(session)
        self.sessions.close_receiving(session)
        if ended is not None:
            for heir in self.sessions.of_device(ended.device)[:1]:
                self.deliver_waiting(heir, self.now)
        return self.take_effects()


class OneSessionADevice(Sessions):
    def __init__(self, settings: RelaySettings) -> None:
        super().__init__(replace(settings, max_sessions_per_device=1))


class AcksOfTheSession(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        if blob_id in session.sent:
            super().apply_ack(session, blob_id)


# -- expiry


class ExpiresHourly(Relay):
    """Goes through the store once an hour; until then what is there is delivered and counts."""

    def create_inboxes(self) -> Inboxes:
        return _DeliversWhatIsThere(self.store, self.settings)

    def reap_time(self, expiry: int) -> int:
        return (expiry // HOUR + 1) * HOUR

    def reap(self, now: int) -> None:
        hour = now // HOUR * HOUR
        super().reap(hour)
        if self.reap_not_before > hour:
            self.reap_not_before = hour + HOUR


class _DeliversWhatIsThere(Inboxes):
    def is_deliverable(self, blob: Blob, now: int) -> bool:  # noqa: ARG002 - the time is not looked at
        return True


class ExpiresWhenTouched(Relay):
    """Has no timer: what has expired goes when somebody comes."""

    def next_timer(self) -> int | None:
        return None

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.reap(now)
        return super().open_receive_session(session, device, now)

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        self.reap(now)
        super().judge_push(session, push, body, now)


class DeliversAtTheInstant(Inboxes):
    def is_expired(self, blob: Blob, now: int) -> bool:
        return now > self.expires_at(blob)

    def next_expiry(self) -> int | None:
        expiry = super().next_expiry()
        return None if expiry is None else expiry + 1


# -- refusals


class QuotaBeforeRate(Relay):
    def refusal_of(self, frame: PushFrame, now: int) -> Refusal | None:
        if self.is_inbox_full(frame):
            return Refusal.INBOX_FULL
        if self.is_rate_limited(frame, now):
            return Refusal.RATE_LIMITED
        return Refusal.TOO_LARGE if self.is_too_large(frame) else None


class FailsInternally(Relay):
    def code_for_store_failure(self) -> Refusal:
        return Refusal.INTERNAL_ERROR


class ChecksTheStoreFirst(Relay):
    """A store that fails refuses everything, whatever else is wrong with it."""

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        if self.store.failing:
            raise StoreFailedError("The store takes no writes.")
        super().judge_push(session, push, body, now)


class FillsOnceASecond(PushRates):
    def level(self, recipient: bytes, now: int) -> int:
        return super().level(recipient, now // 1000 * 1000)

    def spend(self, recipient: bytes, now: int) -> None:
        super().spend(recipient, now // 1000 * 1000)


# -- writes


class WritesAJournal(Relay):
    """Two durable writes for each change: the journal, then the inbox."""

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        with self.store.transaction():
            pass
        return super().store_push(frame, now)

    def delete_acked(self, blob: Blob) -> None:
        with self.store.transaction():
            pass
        super().delete_acked(blob)


class DeletesWhenIdle(Relay):
    """Acked blobs are deleted together, once nothing else is to do."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.acked: dict[int, Blob] = {}
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        self.acked[blob.blob_id] = blob

    def flush(self) -> None:
        acked, self.acked = list(self.acked.values()), {}
        try:
            if acked:
                self.inboxes.delete(acked)
        except StoreFailedError:
            return
        for blob in acked:
            self.sessions.forget(blob)

    def next_timer(self) -> int | None:
        self.flush()
        return super().next_timer()

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.flush()
        return super().open_receive_session(session, device, now)

    def push(self, session: str, push: int, body: bytes, now: int) -> list[Effect]:
        self.flush()
        return super().push(session, push, body, now)


VARIANTS = (
    Variant("relay-scattered-ids", "gives ids without any order; a blob id is a u64 and says nothing", ScatteredIds),
    Variant("relay-descending-ids", "counts ids down from the greatest u64", DescendingIds),
    Variant("relay-ids-of-the-session", "gives a blob another id on each session", IdsOfTheSession),
    Variant("relay-ids-of-the-inbox", "counts in each inbox, so that two devices see the same ids", IdsOfTheInbox),
    Variant("relay-delivers-before-the-ack", "sends the blob before the sender's ack", DeliversBeforeTheAck),
    Variant("relay-newest-session-gets-it", "sends what arrives to the newest session only", NewestSessionGetsIt),
    Variant("relay-oldest-session-gets-it", "sends what arrives to the oldest session only", OldestSessionGetsIt),
    Variant("relay-end-hands-over", "sends another session what the one that ended had not acked", EndHandsOver),
    Variant("relay-one-session-a-device", "ends the old session for a new one", with_sessions(OneSessionADevice)),
    Variant("relay-acks-of-the-session", "takes an ack where it sent the blob only", AcksOfTheSession),
    Variant("relay-expires-hourly", "deletes what has expired once an hour", ExpiresHourly),
    Variant("relay-expires-when-touched", "deletes what has expired when it is asked for", ExpiresWhenTouched),
    Variant("relay-delivers-at-the-instant", "keeps a blob at its very TTL", with_inboxes(DeliversAtTheInstant)),
    Variant("relay-quota-before-rate", "looks at the inbox, the rate and the size in that order", QuotaBeforeRate),
    Variant("relay-fails-internally", "calls a failure of its store an internal error", FailsInternally),
    Variant("relay-checks-the-store-first", "tells of a failing store before anything else", ChecksTheStoreFirst),
    Variant("relay-fills-once-a-second", "fills its buckets at whole seconds", with_rates(FillsOnceASecond)),
    Variant("relay-writes-a-journal", "needs two durable writes for each change", WritesAJournal),
    Variant("relay-deletes-when-idle", "deletes acked blobs once it is idle", DeletesWhenIdle),
)
