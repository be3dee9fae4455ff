"""The recipient: judges each Blob, one at a time, runs the handler, and acks what is done with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reference_impl.device.backoff import Backoff
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.effects import (
    CallHandler,
    DeliverAck,
    HandlerGaveUp,
    HeldForUpgrade,
    Issue,
    Lost,
    Message,
    Opened,
    OpenReceiveSession,
    SessionAnswer,
    Unauthorized,
    Unreadable,
    Unsupported,
)
from reference_impl.device.notices import Notices
from reference_impl.device.session_state import SessionState
from reference_impl.device.verdicts import Apply, Drop, Hold, Verdict
from reference_impl.wire.content import Content, MalformedError, Member, Sealed, Tag
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


@dataclass(slots=True)
class Handling:
    """The message that the handler has now, or will get again at `retry_at` (Unix ms).

    `identity` is the Noise key that this device had when it got the message.
    """

    blob: Blob
    message: Message
    identity: str
    request: int | None = None
    retry_at: int | None = None
    attempts: int = 0


class Recipient:
    """Everything from Receive Session to DeliverAck."""

    def __init__(
        self,
        context: Context,
        state: SessionState,
        notices: Notices,
        connection: ConnectionTracker,
        dedup: DedupTable,
    ) -> None:
        self._context = context
        self._state = state
        self._notices = notices
        self._connection = connection
        self._dedup = dedup
        self._judges: dict[int, Judge] = {}
        self._handler: str | None = None
        self._opening: int | None = None
        self._session: str | None = None
        self._session_backoff = self.make_session_backoff()
        self._session_retry_at: int | None = None
        self._waiting: deque[Blob] = deque()
        self._handling: Handling | None = None
        self._held: dict[str, None] = {}

    def set_judges(self, judges: dict[int, Judge]) -> None:
        """Who judges the control messages, by tag: the library is their handler (CTL-001)."""
        self._judges = judges

    # The handler

    @property
    def has_handler(self) -> bool:
        return self._handler is not None

    def set_handler(self, handle: str) -> None:
        """Registering the handler starts receiving (RCV-001)."""
        self._handler = handle
        self.open_session()
        self.tick()
        self.proceed()

    def cancel_handler(self, handle: str) -> None:
        """Without a handler nothing is taken from what waits. A call that runs is still seen to its end."""
        if self._handler == handle:
            self._handler = None

    # The Receive Session

    def may_open_session(self) -> bool:
        """Nothing is pulled before there is a handler (RCV-001)."""
        return self.has_handler and self._connection.usable

    def open_session(self) -> None:
        if self._opening is not None or self._session is not None or not self.may_open_session():
            return
        self._session_retry_at = None
        self._opening = self._context.next_request()
        self._context.emit(OpenReceiveSession(self._opening, self._state.me.noise_pub, self._context.transport_version))

    def session_answered(self, request: int, answer: SessionAnswer) -> None:
        if request != self._opening:
            return
        self._opening = None
        match answer:
            case Opened(session=session):
                self._session = session
                self._session_backoff.reset()
            case Lost():
                self._session_retry_at = self._context.now + self._session_backoff.next_delay()
            case Unsupported(minimum=minimum, maximum=maximum):
                self._connection.unsupported(minimum, maximum)

    def connected(self) -> None:
        self._session_backoff.reset()
        self.open_session()

    def disconnected(self) -> None:
        """The session is gone, and with it what it delivered and was not acked: it all comes again."""
        self._opening = self._session = self._session_retry_at = None
        self._waiting.clear()
        self._held = {}

    def start_over(self) -> None:
        """After a wipe: what came for the old identity is no longer this device's."""
        self.disconnected()
        if self._handling is not None and self._handling.request is None:
            self._handling = None
        self.open_session()

    # Blobs, one at a time

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        """A Blob of the session now open waits for its turn (RCV-004)."""
        if session == self._session:
            self._waiting.append(Blob(session, blob_id, envelope))
            self.proceed()

    def proceed(self) -> None:
        """Take Blob after Blob until one needs the handler."""
        while self.may_take_next():
            self.process(self._waiting.popleft())

    def may_take_next(self) -> bool:
        """Serial: not while a message is with the handler, its retries included (RCV-004)."""
        return bool(self._waiting) and self.has_handler and self._handling is None

    def process(self, blob: Blob) -> None:
        match self.judge(blob):
            case Drop(issue=issue):
                self.drop(blob, issue)
            case Hold(version=version):
                self.hold(blob, version)
            case Apply(commit=commit, after=after):
                self.apply(blob, commit, after)
            case None:
                self.hand_over(blob)

    def judge(self, blob: Blob) -> Verdict | None:
        """The first check that has something to say decides (RCV-012). None: a message for the handler."""
        for check in self.checks():
            verdict = check(blob)
            if verdict is not None:
                return verdict
        return None

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

    # Outcomes

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        """Ack, drop and tell the app. Nothing is recorded: a genuine copy is still welcome (RCV-013)."""
        if issue is not None:
            self._notices.issue(issue)
        self.ack(blob)

    def ack(self, blob: Blob) -> None:
        """The same for whatever was done with the Blob (MTA-001), on the session that delivered it."""
        if blob.session == self._session:
            self._context.emit(DeliverAck(blob.session, blob.blob_id))

    def hold(self, blob: Blob, version: int) -> None:
        """Leave it unacked on the relay, and go on with the next (VER-001, VER-004)."""
        if blob.blob_id in self._held:
            return
        self._held[blob.blob_id] = None
        self._notices.issue(HeldForUpgrade(version))
        if len(self._held) > self._context.limits.held_blobs:
            self.drop_oldest_held(blob.session)

    def drop_oldest_held(self, session: str) -> None:
        """VER-003: that one, and only that one."""
        oldest = next(iter(self._held))
        del self._held[oldest]
        self.drop(Blob(session, oldest, None), Unreadable("droppedWhileHeld"))

    def apply(self, blob: Blob, commit: Callable[[], None], after: Callable[[], None]) -> None:
        """Commit what a control message does, then ack it (CTL-001), then what follows from it."""
        commit()
        self.ack(blob)
        after()

    # The handler's turn

    def hand_over(self, blob: Blob) -> None:
        if self._state.status in DEPARTING:
            return  # no handler runs any more, and the wipe to come makes an ack of it pointless
        sender = self._state.member(blob.content.author_pub)
        if sender is not None:
            self._handling = Handling(blob, self.message(blob.content, sender), self._state.me.noise_pub)
            self.call_handler(self._handling)

    def message(self, content: Content, sender: Member) -> Message:
        """RCV-006."""
        return Message(content.message_id, sender, content.body)

    def call_handler(self, handling: Handling) -> None:
        """Without a timeout: a handler that never ends stalls delivery (RCV-009)."""
        handling.attempts += 1
        handling.retry_at = None
        handling.request = self._context.next_request()
        self._context.emit(CallHandler(handling.request, handling.message))

    def handler_ended(self, request: int, error: str | None) -> None:
        """`error` is what the handler threw, None if it returned."""
        handling = self._handling
        if handling is None or handling.request != request:
            return
        handling.request = None
        if error is None:
            self.finish(handling, None)
        elif handling.attempts >= self._context.limits.handler_attempts:
            self.finish(handling, HandlerGaveUp(handling.message.id, error))
        else:
            self.retry_later(handling)
        self.proceed()

    def retry_later(self, handling: Handling) -> None:
        """In memory, with backoff, and with everything behind it waiting (RCV-008)."""
        if self._is_mine(handling):
            handling.retry_at = self._context.now + self.handler_delay(handling.attempts)
        else:
            self._handling = None

    def handler_delay(self, attempts: int) -> int:
        limits = self._context.limits
        backoff = Backoff(limits.handler_backoff_first, limits.handler_backoff_factor, limits.handler_backoff_max)
        return backoff.delay(attempts)

    def finish(self, handling: Handling, issue: Issue | None) -> None:
        """The handler is done: record the Message ID, and only then ack (RCV-007)."""
        if self._is_mine(handling):
            self.record(handling.blob.content)
        if issue is not None:
            self._notices.issue(issue)
        self.ack(handling.blob)
        self._handling = None

    def record(self, content: Content) -> None:
        """A message that the handler gave up on counts as handled too: it is not tried again."""
        with self._context.store.transaction():
            self._dedup.record(content)

    def _is_mine(self, handling: Handling) -> bool:
        """False where a wipe came while the handler ran: the new identity starts with an empty table."""
        return handling.identity == self._state.me.noise_pub

    # Time

    def tick(self) -> None:
        handling = self._handling
        if handling is not None and self.has_handler and _is_due(handling.retry_at, self._context.now):
            self.call_handler(handling)
        if _is_due(self._session_retry_at, self._context.now):
            self.open_session()

    def next_timer(self) -> int | None:
        """The earliest retry of the handler or of the session, in Unix ms."""
        moments: list[int] = []
        if self._handling is not None and self._handling.retry_at is not None and self.has_handler:
            moments.append(self._handling.retry_at)
        if self._session_retry_at is not None and self.may_open_session():
            moments.append(self._session_retry_at)
        return min(moments, default=None)

    def make_session_backoff(self) -> Backoff:
        limits = self._context.limits
        return Backoff(limits.push_backoff_first, limits.push_backoff_factor, limits.push_backoff_max)


def _is_due(moment: int | None, now: int) -> bool:
    return moment is not None and moment <= now
