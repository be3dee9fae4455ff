"""Relays that take several freedoms at once, and relays that do nothing in the call that causes it."""

from __future__ import annotations

from adapters.deviation import Variant
from adapters.variants.relay import (
    ChecksTheStoreFirst,
    DeletesWhenIdle,
    DeliversBeforeTheAck,
    DescendingIds,
    ExpiresWhenTouched,
    FailsInternally,
    IdsOfTheSession,
    NewestSessionGetsIt,
    OneSessionADevice,
    QuotaBeforeRate,
    ScatteredIds,
    WritesAJournal,
)
from reference_impl.relay.effects import Effect
from reference_impl.relay.relay import Relay
from reference_impl.relay.sessions import ReceiveSession, Sessions
from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import Blob, Store, StoreFailedError


class SpeaksWhenIdle(Relay):
    """Acks, refusals and deliveries leave together once nothing else is to do; a crash takes what had not left."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.is_idle = False
        super().__init__(store, settings, now)

    def take_effects(self) -> list[Effect]:
        return super().take_effects() if self.is_idle else []

    def next_timer(self) -> int | None:
        self.is_idle = True
        return super().next_timer()

    def push(self, session: str, push: int, body: bytes, now: int) -> list[Effect]:
        self.is_idle = False
        return super().push(session, push, body, now)

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.is_idle = False
        return super().open_receive_session(session, device, now)


class SessionsTakeTurns(Relay):
    """What arrives goes to one session of its device, another one each time."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.turn = 0
        super().__init__(store, settings, now)

    def deliver_new(self, blob: Blob) -> None:
        sessions = self.sessions.of_device(blob.recipient)
        if sessions:
            self.turn += 1
            self.deliver_once(sessions[self.turn % len(sessions)], blob)


class RemembersFailedAcks(Relay):
    """An ack that the store could not carry out is carried out once it can; until then the blob is not sent again."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.owed: dict[int, Blob] = {}
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        try:
            super().delete_acked(blob)
        except StoreFailedError:
            self.owed[blob.blob_id] = blob

    def pay(self) -> None:
        owed, self.owed = list(self.owed.values()), {}
        for blob in owed:
            self.delete_acked(blob)

    def next_timer(self) -> int | None:
        self.pay()
        return super().next_timer()

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.blob_id not in self.owed:
            super().deliver_once(session, blob)


class Batching(SpeaksWhenIdle, DeletesWhenIdle, ScatteredIds, FailsInternally):
    """Speaks and deletes when idle, with ids in no order."""


class Frugal(ExpiresWhenTouched, IdsOfTheSession, NewestSessionGetsIt, WritesAJournal):
    """One session a device, ids of that session, no timer, and a journal."""

    def create_sessions(self) -> Sessions:
        return OneSessionADevice(self.settings)


class Contrary(SessionsTakeTurns, RemembersFailedAcks, DescendingIds, QuotaBeforeRate, DeliversBeforeTheAck):
    """Another order wherever an order is free."""


class IdleContrary(SpeaksWhenIdle, Contrary, ChecksTheStoreFirst):
    pass


VARIANTS: tuple[Variant, ...] = (
    Variant("relay-speaks-when-idle", "answers and delivers once all else is done", SpeaksWhenIdle),
    Variant("relay-sessions-take-turns", "sends what arrives to one session after the other", SessionsTakeTurns),
    Variant("relay-remembers-failed-acks", "deletes later what its store could not delete", RemembersFailedAcks),
    Variant("relay-batching", "answers, delivers and deletes when idle, with ids in no order", Batching),
    Variant("relay-frugal", "one session a device, its own ids, no timer, and a journal", Frugal),
    Variant("relay-contrary", "takes turns, counts down, delivers before the ack, looks at the inbox first", Contrary),
    Variant("relay-idle-contrary", "the same, once all else is done", IdleContrary),
)
