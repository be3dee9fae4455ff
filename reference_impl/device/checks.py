"""The checks that each Blob goes through, in the order of the contract (RCV-012)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.effects import Message, Unauthorized, Unreadable
from reference_impl.device.session_state import SessionState
from reference_impl.device.verdicts import Drop, Handle, Hold, PassOver, Verdict
from reference_impl.wire.content import Content, MalformedError, Sealed, Tag
from reference_impl.wire.json_types import Json

MALFORMED: Final = Drop(Unreadable("malformed"))
DEPARTING: Final = frozenset(("leaving", "destroying"))

Judge = Callable[[Content, int], Verdict]
"""Judges a control message of a given End-to-End Version."""


@dataclass(slots=True)
class Blob:
    """One Blob on its way through the checks, which fill in what they find."""

    session: str
    blob_id: str
    envelope: Json
    version: int = 0
    sealed: Sealed | None = None

    @property
    def content(self) -> Content:
        if self.sealed is None:
            raise RuntimeError("the content of a Blob was used before the Blob was decrypted")
        return self.sealed.content


class Checks:
    """Judges Blobs, and changes nothing."""

    def __init__(self, context: Context, state: SessionState, dedup: DedupTable) -> None:
        self._context = context
        self._state = state
        self._dedup = dedup
        self._judges: dict[int, Judge] = {}

    def set_judges(self, judges: dict[int, Judge]) -> None:
        """Who judges the control messages, by tag: the library is their handler (CTL-001)."""
        self._judges = judges

    def judge(self, blob: Blob) -> Verdict:
        """The first check that has something to say decides (RCV-012). Else the message is handled."""
        for check in self.checks():
            verdict = check(blob)
            if verdict is not None:
                return verdict
        return Handle(self.message(blob.content))

    def checks(self) -> tuple[Callable[[Blob], Verdict | None], ...]:
        """The checks, in the order of the contract (RCV-012)."""
        return (
            self.check_version,
            self.check_decrypts,
            self.check_signature,
            self.check_replay_window,
            self.check_tag,
            self.check_rules,
            self.check_duplicate,
            self.check_departure,
        )

    def check_version(self, blob: Blob) -> Verdict | None:
        """Before anything is opened: newer waits for the upgrade, older is of no use (VER-001, 002, 007)."""
        try:
            blob.version = self._context.codec.version_of(blob.envelope)
        except MalformedError:
            return MALFORMED
        if blob.version > self._context.end_to_end_version:
            return Hold(blob.version)
        if blob.version < self._context.end_to_end_version:
            return Drop(Unreadable("senderOutdated"))
        return None

    def check_decrypts(self, blob: Blob) -> Verdict | None:
        """RCV-010: undecodable, unauthenticated, re-addressed."""
        try:
            blob.sealed = self._context.codec.decrypt(blob.envelope, self._state.me.noise_pub)
        except MalformedError:
            return MALFORMED
        return None

    def check_signature(self, blob: Blob) -> Verdict | None:
        """RCV-010."""
        return None if blob.sealed is not None and blob.sealed.signature_valid else MALFORMED

    def check_replay_window(self, blob: Blob) -> Verdict | None:
        """By the clock at this moment, not at arrival (RPW-003)."""
        if self.is_too_old(blob.content.sender_timestamp):
            return Drop(Unreadable("expired"))
        return None

    def is_too_old(self, sender_timestamp: int) -> bool:
        """Exactly 60 days is accepted, 1 ms more is not (RPW-001); the future is, however far (RPW-002)."""
        return self._context.now - sender_timestamp > self._context.limits.replay_window

    def check_tag(self, blob: Blob) -> Verdict | None:
        """RCV-010."""
        known = blob.content.tag == Tag.SYNC or blob.content.tag in self._judges
        return None if known else MALFORMED

    def check_rules(self, blob: Blob) -> Verdict | None:
        """The pairing and membership rules (RCV-011). A control message is decided here (CTL-001)."""
        if blob.content.tag == Tag.SYNC:
            return self.check_sender(blob)
        return self._judges[blob.content.tag](blob.content, blob.version)

    def check_sender(self, blob: Blob) -> Verdict | None:
        """A Sync message counts from a current member only (RCV-011, CTL-003, CTL-006)."""
        if self._state.member(blob.content.author_pub) is None:
            return Drop(Unauthorized())
        return None

    def check_duplicate(self, blob: Blob) -> Verdict | None:
        """Acked without an issue and without the handler (RCV-014)."""
        return Drop(None) if self._dedup.knows(blob.content) else None

    def check_departure(self, _blob: Blob) -> Verdict | None:
        """No handler starts any more, and the wipe to come makes an ack pointless (CTL-014)."""
        return PassOver() if self.is_departing() else None

    def is_departing(self) -> bool:
        """Whether no handler may start any more (CTL-014)."""
        return self._state.status in DEPARTING

    def message(self, content: Content) -> Message:
        """RCV-006: the sender as `members` has it, the body as it was sent."""
        sender = self._state.member(content.author_pub)
        if sender is None:
            raise RuntimeError("a message got through the checks whose sender is no member")
        return Message(content.message_id, sender, content.body)
