"""The recipient: takes Blob after Blob, runs the handler, and acks what is done with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.device.backoff import Backoff
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.effects import (
    CallHandler,
    DeliverAck,
    HandlerGaveUp,
    HeldForUpgrade,
    Issue,
    Message,
    Unreadable,
)
from reference_impl.device.notices import Notices
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.verdicts import Apply, Drop, Handle, Hold, PassOver
from reference_impl.wire.content import Content
from reference_impl.wire.json_types import Json


@dataclass(slots=True)
class Handling:
    """The message that the handler has now, or will get again at `retry_at` (Unix ms).

    `orphaned`: a wipe came meanwhile, and the device that got this message is no more.
    """

    blob: Blob
    message: Message
    request: int | None = None
    retry_at: int | None = None
    attempts: int = 0
    orphaned: bool = False


class Recipient:
    """From the Blob that a Receive Session brings to its DeliverAck."""

    def __init__(
        self,
        context: Context,
        notices: Notices,
        session: ReceiveSession,
        checks: Checks,
        dedup: DedupTable,
    ) -> None:
        self._context = context
        self._notices = notices
        self._session = session
        self._checks = checks
        self._dedup = dedup
        self._handler: str | None = None
        self._waiting: deque[Blob] = deque()
        self._handling: Handling | None = None
        self._held: dict[str, None] = {}

    # The handler

    @property
    def has_handler(self) -> bool:
        return self._handler is not None

    def set_handler(self, handle: str) -> None:
        """Registering the handler starts receiving (RCV-001)."""
        self._handler = handle
        self._session.wanted = True
        self._session.open()
        self.retry_if_due()
        self.proceed()

    def cancel_handler(self, handle: str) -> None:
        """Without a handler nothing is taken from what waits. A call that runs is still seen to its end."""
        if self._handler == handle:
            self._handler = None
            self._session.wanted = False

    # Sessions

    def disconnected(self) -> None:
        """With the session goes what it delivered and was not acked: it all comes again."""
        self._session.ended()
        self._waiting.clear()
        self._held = {}

    def start_over(self) -> None:
        """After a wipe: what came for the old identity is no longer this device's."""
        self.disconnected()
        if self._handling is not None:
            self._handling.orphaned = True
            if self._handling.request is None:
                self._handling = None
        self._session.open()

    def departed(self) -> None:
        """On the way out of the group there are no more attempts, and nothing waits for one (CTL-014)."""
        if self._handling is not None and self._handling.request is None:
            self._handling = None
        self.proceed()

    # Blobs, one at a time

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        """A Blob of the session now open waits for its turn (RCV-004)."""
        if session == self._session.current:
            self._waiting.append(Blob(session, blob_id, envelope))
            self.proceed()

    def proceed(self) -> None:
        """Take Blob after Blob until one needs the handler."""
        while self.may_take_next():
            self.process(self.take_next())

    def may_take_next(self) -> bool:
        """Serial: not while a message is with the handler, its retries included (RCV-004)."""
        return bool(self._waiting) and self.has_handler and self._handling is None

    def take_next(self) -> Blob:
        """In the order of arrival, which is each sender's own (RCV-005)."""
        return self._waiting.popleft()

    def process(self, blob: Blob) -> None:
        match self._checks.judge(blob):
            case Drop(issue=issue):
                self.drop(blob, issue)
            case Hold(version=version):
                self.hold(blob, version)
            case Apply(commit=commit, after=after):
                self.apply(blob, commit, after)
            case Handle(message=message):
                self.hand_over(blob, message)
            case PassOver():
                pass

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        """Ack, drop and tell the app. Nothing is recorded: a genuine copy is still welcome (RCV-013)."""
        if issue is not None:
            self._notices.issue(issue)
        self.ack(blob)

    def ack(self, blob: Blob) -> None:
        """The same for whatever was done with the Blob (MTA-001), on the session that delivered it."""
        if blob.session == self._session.current:
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

    def hand_over(self, blob: Blob, message: Message) -> None:
        self._handling = Handling(blob, message)
        self.call_handler(self._handling)

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
        if handling.orphaned or (error is not None and self._checks.is_departing()):
            self._handling = None
        elif error is None:
            self.finish(handling, None)
        elif self.gives_up_after(handling.attempts):
            self.finish(handling, HandlerGaveUp(handling.message.id, error))
        else:
            self.retry_later(handling)
        self.proceed()

    def gives_up_after(self, attempts: int) -> bool:
        """Five calls in total (RCV-008)."""
        return attempts >= self._context.limits.handler_attempts

    def retry_later(self, handling: Handling) -> None:
        """In memory, with backoff, and with everything behind it waiting (RCV-008)."""
        handling.retry_at = self._context.now + self.handler_delay(handling.attempts)

    def handler_delay(self, attempts: int) -> int:
        """The wait after the n-th call that threw, in ms."""
        limits = self._context.limits
        first, factor = limits.handler_backoff_first, limits.handler_backoff_factor
        return Backoff(first, factor, limits.handler_backoff_max).delay(attempts)

    def finish(self, handling: Handling, issue: Issue | None) -> None:
        """The handler is done: record the Message ID, and only then ack (RCV-007)."""
        self.record(handling.blob.content)
        if issue is not None:
            self._notices.issue(issue)
        self.ack(handling.blob)
        self._handling = None

    def record(self, content: Content) -> None:
        """A message that the handler gave up on counts as handled too: it is not tried again."""
        with self._context.store.transaction():
            self._dedup.record(content)

    # Time

    def tick(self) -> None:
        self.retry_if_due()
        self._session.tick()

    def retry_if_due(self) -> None:
        handling = self._handling
        if handling is None or handling.retry_at is None or not self.has_handler:
            return
        if handling.retry_at <= self._context.now:
            self.call_handler(handling)

    def next_timer(self) -> int | None:
        """The earliest retry of the handler or of the session, in Unix ms."""
        moments = [self._session.next_timer()]
        if self._handling is not None and self.has_handler:
            moments.append(self._handling.retry_at)
        return min((moment for moment in moments if moment is not None), default=None)
