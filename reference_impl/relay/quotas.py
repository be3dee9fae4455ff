"""What one recipient may be sent: how much waits in an Inbox, and how fast pushes come in (RLY-010)."""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import InboxSize

TOKEN = 1000
"""One push, in thousandths: tokens a second are then thousandths a millisecond, all whole numbers."""


class InboxQuota:
    """Decides whether one more Blob fits into an Inbox. Stateless: the store counts what is there."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings

    def is_full_for(self, size: InboxSize, envelope_bytes: int) -> bool:
        """Full by count or by bytes (RLY-010)."""
        return self.too_many_blobs(size) or self.too_many_bytes(size, envelope_bytes)

    def too_many_blobs(self, size: InboxSize) -> bool:
        """The limit itself is allowed, one more is not (RLY-010)."""
        return size.blobs + 1 > self._settings.max_blobs_per_inbox

    def too_many_bytes(self, size: InboxSize, envelope_bytes: int) -> bool:
        """Only envelope bytes count; the limit itself is allowed, one more byte is not (RLY-010)."""
        return size.bytes + envelope_bytes > self._settings.max_bytes_per_inbox


@dataclass(slots=True)
class Bucket:
    """`level` in thousandths of a token, as it was at `filled_at` (milliseconds)."""

    level: int
    filled_at: int


class PushRates:
    """One token bucket for each recipient. In memory only: after a restart every bucket is full."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._buckets: dict[bytes, Bucket] = {}

    def allows(self, recipient: bytes, now: int) -> bool:
        """Whether a token is there for this recipient at `now` (RLY-010)."""
        return self.level(recipient, now) >= TOKEN

    def spend(self, recipient: bytes, now: int) -> None:
        """Take one token, for a push that was stored: what is refused costs nothing."""
        level = self.level(recipient, now) - TOKEN
        self._buckets[self.bucket_key(recipient)] = Bucket(level, now)

    def level(self, recipient: bytes, now: int) -> int:
        """What is in the bucket at `now`, in thousandths of a token, never more than the burst."""
        bucket = self._buckets.get(self.bucket_key(recipient))
        if bucket is None:
            return self.capacity()
        return min(self.capacity(), bucket.level + self.refill(now - bucket.filled_at))

    def bucket_key(self, recipient: bytes) -> bytes:
        """Each recipient has a bucket of its own (RLY-010)."""
        return recipient

    def capacity(self) -> int:
        """The burst, in thousandths of a token."""
        return self._settings.push_burst * TOKEN

    def refill(self, elapsed: int) -> int:
        """What flows in within `elapsed` milliseconds, in thousandths of a token."""
        return elapsed * self._settings.push_rate_per_second
