"""The Inboxes: what is stored for whom, in which order, for how long."""

from __future__ import annotations

from itertools import takewhile

from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import Blob, InboxSize, Store


class Inboxes:
    """Every change is one transaction of the store: committed when the call returns, or not made at all.

    Each call may raise StoreFailedError.
    """

    def __init__(self, store: Store, settings: RelaySettings) -> None:
        self._store = store
        self._settings = settings

    def put(self, recipient: bytes, envelope: bytes, now: int) -> Blob:
        """Store an envelope behind what waits already; durable when this returns (RLY-001)."""
        with self._store.transaction():
            arrival = self._store.take_arrival()
            blob = Blob(self.blob_id(arrival), arrival, recipient, self.kept_bytes(envelope), now)
            self._store.add(blob)
        return blob

    def delete(self, blobs: list[Blob]) -> None:
        """Delete these, all or none, and no other (RLY-006)."""
        with self._store.transaction():
            for blob in blobs:
                self._store.remove(blob)

    def find(self, blob_id: int) -> Blob | None:
        """The Blob of that id in whichever Inbox it is, or None."""
        return self._store.find(blob_id)

    def size(self, recipient: bytes) -> InboxSize:
        """How much waits for that recipient (RLY-010)."""
        return self._store.inbox_size(recipient)

    def waiting(self, recipient: bytes, now: int) -> list[Blob]:
        """What a new Receive Session is sent: all that is not acked, in order (RLY-003, RLY-005)."""
        blobs = self._store.inbox(recipient)
        return self.in_order([blob for blob in blobs if self.is_deliverable(blob, now)])

    def blob_id(self, arrival: int) -> int:
        """A u64 that is never used again, restarts included; `arrival` never repeats, so it serves."""
        return arrival

    def kept_bytes(self, envelope: bytes) -> bytes:
        """The envelope is opaque and kept byte for byte (RLY-016)."""
        return envelope

    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        """The order of delivery: given in arrival order, left so (RLY-003, RLY-021)."""
        return blobs

    def is_deliverable(self, blob: Blob, now: int) -> bool:
        """What has expired is never delivered, be it deleted yet or not (RLY-014)."""
        return not self.is_expired(blob, now)

    def is_expired(self, blob: Blob, now: int) -> bool:
        """Expired from the very instant at which the TTL has passed (RLY-014)."""
        return now >= self.expires_at(blob)

    def expires_at(self, blob: Blob) -> int:
        """The TTL counts from arrival: no re-send and no restart extends it (RLY-014)."""
        return blob.arrived_at + self._settings.ttl

    def expired(self, now: int) -> list[Blob]:
        """What has expired at `now`: the oldest, as all share one TTL and time never goes back (RLY-014)."""
        return list(takewhile(lambda blob: self.is_expired(blob, now), self._store.all_blobs()))

    def next_expiry(self) -> int | None:
        """When the oldest Blob expires (milliseconds), or None if nothing is stored."""
        oldest = next(iter(self._store.all_blobs()), None)
        return None if oldest is None else self.expires_at(oldest)
