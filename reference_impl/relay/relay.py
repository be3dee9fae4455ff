"""The Relay: events and the time in, effects out. It owns no socket, thread, clock or sleep.

Everything durable is in the store, changed in transactions: a crash at any point is the loss of this object.
Each decision is a method of its own and each part is made by a `create_` method, so that a deviation is a
small subclass.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.relay.effects import Deliver, Effect, PushAnswered, Refusal, SessionClosed
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.quotas import InboxQuota, PushRates
from reference_impl.relay.sessions import ReceiveSession, Sessions
from reference_impl.relay.settings import RelaySettings, SettingsCheck
from reference_impl.relay.store import Blob, Store, StoreFailedError

KEY_BYTES = 32
REAP_RETRY = 60_000
"""After a failed deletion of expired Blobs: milliseconds until the next attempt."""


@dataclass(frozen=True, slots=True)
class PushFrame:
    """The body of a Push frame, taken apart: a Noise public key and an opaque envelope."""

    recipient: bytes
    envelope: bytes


class Relay:
    """One Relay over one store. `now` is milliseconds since the Unix epoch and never goes back.

    Each event returns what is to be done in consequence, in that order.
    """

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        """Start on what the store holds (RLY-021). Raises SettingRefusedError (RLY-015)."""
        self.create_settings_check().check(settings)
        self.settings = settings
        self.store = store
        self.inboxes = self.create_inboxes()
        self.sessions = self.create_sessions()
        self.quota = self.create_quota()
        self.rates = self.create_rates()
        self.reap_not_before = now
        self._effects: list[Effect] = []
        self.reap(now)

    def create_settings_check(self) -> SettingsCheck:
        return SettingsCheck()

    def create_inboxes(self) -> Inboxes:
        return Inboxes(self.store, self.settings)

    def create_sessions(self) -> Sessions:
        return Sessions(self.settings)

    def create_quota(self) -> InboxQuota:
        return InboxQuota(self.settings)

    def create_rates(self) -> PushRates:
        return PushRates(self.settings)

    # Events

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        """`device` connected to receive: it is sent all that waits in its Inbox, once (RLY-005, RLY-020)."""
        for oldest in self.sessions.surplus(device):
            self.end_session(oldest)
        opened = self.sessions.open_receiving(session, device)
        self.deliver_waiting(opened, now)
        return self.take_effects()

    def close_receive_session(self, session: str) -> list[Effect]:
        """The device went away; what it did not ack stays (RLY-005)."""
        self.sessions.close_receiving(session)
        return self.take_effects()

    def open_push_session(self, session: str) -> list[Effect]:
        self.sessions.open_pushing(session)
        return self.take_effects()

    def close_push_session(self, session: str) -> list[Effect]:
        self.sessions.close_pushing(session)
        return self.take_effects()

    def push(self, session: str, push: int, body: bytes, now: int) -> list[Effect]:
        """A push arrived: one answer, and what was stored is delivered (RLY-013).

        `push` is the caller's number for it and comes back in the answer. Raises UnknownSessionError.
        """
        self.sessions.require_pushing(session)
        try:
            self.judge_push(session, push, body, now)
        except StoreFailedError:
            self.answer(session, push, self.code_for_store_failure())
        return self.take_effects()

    def deliver_ack(self, session: str, blob_id: int) -> list[Effect]:
        """A DeliverAck arrived. It has no answer, whatever it did (RLY-007, RLY-008)."""
        acking = self.sessions.receiving(session)
        if acking is not None:
            self.apply_ack(acking, blob_id)
        return self.take_effects()

    def advance(self, now: int) -> list[Effect]:
        """The time is `now`: what is due happens."""
        timer = self.next_timer()
        if timer is not None and now >= timer:
            self.reap(now)
        return self.take_effects()

    def next_timer(self) -> int | None:
        """When the Relay wants `advance` next (milliseconds), or None if nothing waits for the clock."""
        expiry = self.inboxes.next_expiry()
        return None if expiry is None else max(self.reap_time(expiry), self.reap_not_before)

    # Pushes

    def judge_push(self, session: str, push: int, body: bytes, now: int) -> None:
        """Refuse or accept. May raise StoreFailedError, and then has answered nothing and stored nothing."""
        if self.is_malformed(body):
            self.answer(session, push, Refusal.MALFORMED)
            return
        frame = PushFrame(body[:KEY_BYTES], body[KEY_BYTES:])
        refusal = self.refusal_of(frame, now)
        if refusal is None:
            self.accept(session, push, frame, now)
        else:
            self.answer(session, push, refusal)

    def refusal_of(self, frame: PushFrame, now: int) -> Refusal | None:
        """The first reason to refuse a well-formed push, or None (RLY-009, RLY-010)."""
        if self.is_too_large(frame):
            return Refusal.TOO_LARGE
        if self.is_rate_limited(frame, now):
            return Refusal.RATE_LIMITED
        if self.is_inbox_full(frame):
            return Refusal.INBOX_FULL
        return None

    def is_malformed(self, body: bytes) -> bool:
        """Too short to name a recipient (RLY-009)."""
        return len(body) < KEY_BYTES

    def is_too_large(self, frame: PushFrame) -> bool:
        """An envelope of the limit passes, one byte more does not (RLY-009)."""
        return len(frame.envelope) > self.settings.max_envelope_bytes

    def is_rate_limited(self, frame: PushFrame, now: int) -> bool:
        """The recipient's bucket is empty (RLY-010)."""
        return not self.rates.allows(frame.recipient, now)

    def is_inbox_full(self, frame: PushFrame) -> bool:
        """The recipient's Inbox has no room for this envelope (RLY-010)."""
        return self.quota.is_full_for(self.inboxes.size(frame.recipient), len(frame.envelope))

    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        """Store, then ack, then deliver: never an ack for what is not durable (RLY-001, RLY-011)."""
        blob = self.store_push(frame, now)
        self.answer(session, push, None)
        self.deliver_new(blob)

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        """Make the push durable in the recipient's Inbox (RLY-001)."""
        blob = self.inboxes.put(frame.recipient, frame.envelope, now)
        self.rates.spend(frame.recipient, now)
        return blob

    def code_for_store_failure(self) -> Refusal:
        """A store that fails is a temporary refusal (RLY-011)."""
        return Refusal.UNAVAILABLE

    def answer(self, session: str, push: int, refusal: Refusal | None) -> None:
        """Ack (None) or refuse one push; the session stays open (RLY-012, RLY-013)."""
        self.emit(PushAnswered(session, push, refusal))

    # Deliveries

    def deliver_new(self, blob: Blob) -> None:
        """A Blob arrived: it alone is sent, to its device's sessions and no other (RLY-004, RLY-022)."""
        for session in self.sessions.of_device(blob.recipient):
            self.deliver_once(session, blob)

    def deliver_waiting(self, session: ReceiveSession, now: int) -> None:
        """Send a new session what waits (RLY-005). If that cannot be read, end it: the device comes back."""
        try:
            waiting = self.inboxes.waiting(session.device, now)
        except StoreFailedError:
            self.end_session(session)
            return
        for blob in waiting:
            self.deliver_once(session, blob)

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        """Send the Blob unless this session had it (RLY-004)."""
        if not self.sessions.was_sent(session, blob):
            self.sessions.note_sent(session, blob)
            self.deliver(session, blob)

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        """Send one Blob; it stays stored until it is acked or expires (RLY-005, RLY-006)."""
        self.emit(Deliver(session.name, blob.blob_id, blob.envelope))

    def end_session(self, session: ReceiveSession) -> None:
        """End a session from this side."""
        self.sessions.close_receiving(session.name)
        self.emit(SessionClosed(session.name))

    # Acks

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        """Delete the named Blob if it is this device's (RLY-006, RLY-008).

        If the store fails, the Blob stays and is sent again on the next session, where it is acked again.
        """
        try:
            blob = self.inboxes.find(blob_id)
            if blob is not None and self.may_delete(session, blob):
                self.delete_acked(blob)
        except StoreFailedError:
            return

    def may_delete(self, session: ReceiveSession, blob: Blob) -> bool:
        """Only the device whose Inbox holds the Blob may have it deleted (RLY-007)."""
        return blob.recipient == session.device

    def delete_acked(self, blob: Blob) -> None:
        """Delete this Blob and no other (RLY-006)."""
        self.inboxes.delete([blob])
        self.sessions.forget(blob)

    # Expiry

    def reap(self, now: int) -> None:
        """Delete what has expired and tell nobody (RLY-014). A failed deletion is tried again later."""
        try:
            expired = self.inboxes.expired(now)
            if expired:
                self.inboxes.delete(expired)
        except StoreFailedError:
            self.reap_not_before = now + REAP_RETRY
            return
        for blob in expired:
            self.sessions.forget(blob)

    def reap_time(self, expiry: int) -> int:
        """When to delete what expires at `expiry`: at once (RLY-014)."""
        return expiry

    # Effects

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def take_effects(self) -> list[Effect]:
        """What has been emitted since the last call, in order."""
        effects, self._effects = self._effects, []
        return effects
