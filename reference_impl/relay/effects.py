"""What the Relay does towards its sessions: the values it returns, for whoever holds the connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """Why a push is refused: the code and nothing else leaves the Relay (RLY-012)."""

    TOO_LARGE = "too_large"
    MALFORMED = "malformed"
    INBOX_FULL = "inbox_full"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class PushAnswered:
    """The one answer to a push (RLY-013). `refusal` is None for the ack, `push` the caller's number."""

    session: str
    push: int
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class Deliver:
    """One Blob for one Receive Session; `blob_id` is a u64, `envelope` what was pushed (RLY-016)."""

    session: str
    blob_id: int
    envelope: bytes


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The Relay ended this session by itself."""

    session: str


Effect = PushAnswered | Deliver | SessionClosed
