"""The numbers of the delivery contract, each once. Durations are in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit a Device goes by. A build that differs in one of them replaces that field."""

    max_payload_bytes: int = 61_440
    """Protocol Size Limit of a Sync body (SND-003)."""
    replay_window: int = 60 * DAY
    """Oldest Sender Timestamp that is accepted (RPW-001)."""
    dedup_retention: int = 60 * DAY
    """How long a handled Message ID is kept (DDP-002)."""
    outbox_expiry: int = 30 * DAY
    """How long a Sync entry waits, from `send()` (SND-016)."""
    push_backoff_first: int = SECOND
    push_backoff_factor: int = 2
    push_backoff_max: int = 5 * MINUTE
    handler_attempts: int = 5
    """Calls of the handler for one message, the first included (RCV-008)."""
    handler_backoff_first: int = SECOND
    handler_backoff_factor: int = 2
    handler_backoff_max: int = MINUTE
    held_blobs: int = 100
    """Blobs of a newer End-to-End Version that stay unacked (VER-003)."""
    group_size: int = 32
    manifest_version_jump: int = 2**32
    """Largest step between two manifest versions (CTL-004)."""
