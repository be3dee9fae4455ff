"""Devices that receive rightly, each in another way than the reference: what RCV and MTA-001 leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from adapters.deviation import Variant, peek, with_checks, with_recipient
from reference_impl.device.checks import MALFORMED, Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.effects import DeliverAck, HandlerGaveUp, Issue
from reference_impl.device.limits import Limits
from reference_impl.device.notices import Listeners, Notices
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.recipient import Handling, Recipient
from reference_impl.device.verdicts import Drop, Hold, Verdict
from reference_impl.wire.content import Tag
from reference_impl.wire.json_types import Json

LOOKED_AT = 16
Check = Callable[[Blob], Verdict | None]


# -- attempts


def _handler_delay(first: int, factor: int, maximum: int) -> type[Device]:
    class Deviating(Device):
        limits = replace(
            Limits(), handler_backoff_first=first, handler_backoff_factor=factor, handler_backoff_max=maximum
        )

    return Deviating


class FirstRetryAtOnce(Recipient):
    def retry_later(self, handling: Handling) -> None:
        if handling.attempts == 1 and self.has_handler:
            self.call_handler(handling)
        else:
            super().retry_later(handling)


class AttemptsSurvive(Recipient):
    """Notes each call before it is made, so that a crash in the handler counts as an attempt."""

    def call_handler(self, handling: Handling) -> None:
        store, name = self._context.store, f"attempts {handling.message.id}"
        handling.attempts = max(handling.attempts, int(store.read(name) or "0"))
        if self.gives_up_after(handling.attempts):
            self.finish(handling, HandlerGaveUp(handling.message.id, "the app ended while it handled this"))
            return
        with store.transaction():
            store.write(name, str(handling.attempts + 1))
        super().call_handler(handling)


class GaveUpIsNotRecorded(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        if issue is None:
            super().finish(handling, None)
            return
        self._notices.issue(issue)
        self.ack(handling.blob)
        self._handling = None


# -- acks and issues


class AckBeforeIssue(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        self.ack(blob)
        if issue is not None:
            self._notices.issue(issue)

    def finish(self, handling: Handling, issue: Issue | None) -> None:
        super().finish(handling, None)
        if issue is not None:
            self._notices.issue(issue)


class AcksInBatches(Recipient):
    """Keeps its acks until nothing else is to do."""

    def __init__(
        self, context: Context, notices: Notices, session: ReceiveSession, checks: Checks, dedup: DedupTable
    ) -> None:
        super().__init__(context, notices, session, checks, dedup)
        self._acks: list[Blob] = []

    def ack(self, blob: Blob) -> None:
        self._acks.append(blob)

    def start_over(self) -> None:
        self.flush()
        super().start_over()

    def flush(self) -> None:
        for blob in self._acks:
            super().ack(blob)
        self._acks.clear()


class BatchingDevice(Device):
    recipient_class = AcksInBatches

    def next_timer(self) -> int | None:
        """Called when everything is done, which is when the batch goes out."""
        if isinstance(self.recipient, AcksInBatches):
            self.recipient.flush()
        return super().next_timer()


class AcksOnAnySession(Recipient):
    """Acks on the session that is open, whichever brought the Blob."""

    def ack(self, blob: Blob) -> None:
        if self._session.current is not None:
            self._context.emit(DeliverAck(self._session.current, blob.blob_id))


class AcksOnReconnect(AcksOnAnySession):
    """Acks what it could not ack before as soon as there is a session again."""

    owed: tuple[Blob, ...] = ()

    def ack(self, blob: Blob) -> None:
        if self._session.current is None:
            self.owed = (*self.owed, blob)
        else:
            super().ack(blob)

    def pay(self) -> None:
        if self._session.current is not None:
            for blob in self.owed:
                super().ack(blob)
            self.owed = ()

    def start_over(self) -> None:
        self.owed = ()
        super().start_over()


class PayingDevice(Device):
    recipient_class = AcksOnReconnect

    def next_timer(self) -> int | None:
        if isinstance(self.recipient, AcksOnReconnect):
            self.recipient.pay()
        return super().next_timer()


class DeafUntilHeard(Listeners):
    def keeps_unheard(self) -> bool:
        return False


class NoticesWithoutIssues(Notices):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.issue_listeners = DeafUntilHeard(context)


class EarlyIssuesDropped(Device):
    notices_class = NoticesWithoutIssues


class ReportsOnArrival(Recipient):
    """Reports what is unusable while a handler runs, and acks it in its turn."""

    def __init__(
        self, context: Context, notices: Notices, session: ReceiveSession, checks: Checks, dedup: DedupTable
    ) -> None:
        super().__init__(context, notices, session, checks, dedup)
        self._reported: set[tuple[str, str]] = set()

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        if self._handling is not None and session == self._session.current:
            self.look_at(Blob(session, blob_id, envelope))
        super().deliver(session, blob_id, envelope)

    def look_at(self, blob: Blob) -> None:
        verdict = self._checks.judge(blob)
        if isinstance(verdict, Drop) and verdict.issue is not None:
            self._notices.issue(verdict.issue)
            self._reported.add((blob.session, blob.blob_id))

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        super().drop(blob, None if (blob.session, blob.blob_id) in self._reported else issue)


class HoldsOnArrival(Recipient):
    """Holds a newer version at once, whatever the handler does."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        blob = Blob(session, blob_id, envelope)
        verdict = self._checks.check_version(blob)
        if isinstance(verdict, Hold) and session == self._session.current:
            self.hold(blob, verdict.version)
        else:
            super().deliver(session, blob_id, envelope)


# -- order


class SendersTakeTurns(Recipient):
    """Prefers another sender than last time, among the next few. Each sender's own order stays, and all else's."""

    last = ""

    def take_next(self) -> Blob:
        senders = [self._author(blob) for blob in islice(self._waiting, LOOKED_AT)]
        other = next((place for place, sender in enumerate(senders) if sender != self.last), 0)
        place = 0 if "" in senders else other
        chosen = self._waiting[place]
        del self._waiting[place]
        self.last = senders[place]
        return chosen

    def _author(self, blob: Blob) -> str:
        content = peek(self, blob.envelope)
        return content.author_pub if content is not None and content.tag == Tag.SYNC else ""


class TagBeforeWindow(Checks):
    """Reads the tag as soon as the signature holds."""

    def check_signature(self, blob: Blob) -> Verdict | None:
        return super().check_signature(blob) or super().check_tag(blob)


class TagAfterRules(Checks):
    """Asks who sent it before it asks what it is."""

    def check_tag(self, _blob: Blob) -> Verdict | None:
        return None

    def check_rules(self, blob: Blob) -> Verdict | None:
        if super().check_tag(blob) is not None:
            return self.check_sender(blob) or MALFORMED
        return super().check_rules(blob)


# -- the handler and the session


class CancelledCallAbandoned(Recipient):
    """A running call is let go with its handler. The message stays un-acked."""

    def cancel_handler(self, handle: str) -> None:
        if self._handler == handle:
            self._handling = None
        super().cancel_handler(handle)


class CancelEndsSession(Recipient):
    """Without a handler there is no session either, and the next handler gets a new one."""

    def cancel_handler(self, handle: str) -> None:
        if self._handler == handle:
            self.disconnected()
        super().cancel_handler(handle)


class EarlySession(ReceiveSession):
    """Open as soon as there is a connection. What comes waits for the handler."""

    def may_open(self) -> bool:
        return self._connection.usable


class OpensEarly(Device):
    receive_session_class = EarlySession


class LooksEarly(Recipient):
    """Reports what is held before there is a handler, and acks nothing."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        blob = Blob(session, blob_id, envelope)
        verdict = self._checks.check_version(blob)
        has_room = len(self._held) < self._context.limits.held_blobs
        if isinstance(verdict, Hold) and not self.has_handler and has_room and session == self._session.current:
            self.hold(blob, verdict.version)
        else:
            super().deliver(session, blob_id, envelope)


class OpensAndLooksEarly(Device):
    receive_session_class = EarlySession
    recipient_class = LooksEarly


VARIANTS: tuple[Variant, ...] = (
    Variant("handler-delay-tenth", "pauses 0.1 s between attempts; the figure is open", _handler_delay(100, 2, 60_000)),
    Variant("handler-delay-half-minute", "pauses 30 s and more between attempts", _handler_delay(30_000, 2, 240_000)),
    Variant(
        "handler-delay-constant", "pauses 5 s each time; the page gives no factor", _handler_delay(5_000, 1, 5_000)
    ),
    Variant("first-retry-at-once", "makes the second attempt at once, pauses later", with_recipient(FirstRetryAtOnce)),
    Variant("attempts-survive", "goes on counting attempts after a crash", with_recipient(AttemptsSurvive)),
    Variant("gave-up-not-recorded", "does not record what it gave up", with_recipient(GaveUpIsNotRecorded)),
    Variant("ack-before-issue", "acks first and reports then", with_recipient(AckBeforeIssue)),
    Variant("acks-in-batches", "sends its acks together, once all else is done", BatchingDevice),
    Variant("acks-on-any-session", "acks on the session that is open", with_recipient(AcksOnAnySession)),
    Variant("acks-on-reconnect", "acks on a new session before the Blob comes again", PayingDevice),
    Variant("early-issues-dropped", "drops issues that nobody listens to yet", EarlyIssuesDropped),
    Variant("reports-on-arrival", "reports unusable Blobs while a handler runs", with_recipient(ReportsOnArrival)),
    Variant("holds-on-arrival", "holds newer Blobs while a handler runs", with_recipient(HoldsOnArrival)),
    Variant("senders-take-turns", "takes waiting senders in turn", with_recipient(SendersTakeTurns)),
    Variant("tag-before-window", "reads the tag before the stamp", with_checks(TagBeforeWindow)),
    Variant("tag-after-rules", "asks who sent it before what it is", with_checks(TagAfterRules)),
    Variant("cancelled-call-abandoned", "lets go of a call with its handler", with_recipient(CancelledCallAbandoned)),
    Variant("cancel-ends-session", "ends its session with its handler", with_recipient(CancelEndsSession)),
    Variant("opens-early", "opens its session before there is a handler", OpensEarly),
    Variant("opens-and-looks-early", "reports held Blobs before there is a handler", OpensAndLooksEarly),
)
