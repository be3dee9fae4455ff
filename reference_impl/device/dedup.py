"""The dedup table: which Message IDs were handled, and how long that must be known (DDP-001 to DDP-006)."""

from __future__ import annotations

from reference_impl.device.context import Context
from reference_impl.wire.content import Content


class DedupTable:
    """Lives in Session State. Its records end by time, never by count (DDP-003)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def key(self, content: Content) -> str:
        """What makes two messages the same one: the Message ID, nothing else (DDP-004)."""
        return content.message_id

    def knows(self, content: Content) -> bool:
        """Whether this message was handled already, as far as it is still kept."""
        until = self._context.store.handled_until(self.key(content))
        return until is not None and self.is_kept(until)

    def is_kept(self, until: int) -> bool:
        """At its very end a record is still there: the message is still inside the Replay Window (DDP-006)."""
        return self._context.now <= until

    def record(self, content: Content) -> None:
        """Note that the message was handled now. Inside a transaction."""
        until = self.retention_until(self._context.now, content.sender_timestamp)
        self._context.store.record_handled(self.key(content), until)
        self.prune()

    def retention_until(self, handled_at: int, sender_timestamp: int) -> int:
        """60 days after the later of the two: a message from the future outlives handling + 60 d (DDP-002)."""
        return max(handled_at, sender_timestamp) + self._context.limits.dedup_retention

    def prune(self) -> None:
        """Forget what ended. Inside a transaction."""
        self._context.store.forget_handled_before(self._context.now)
