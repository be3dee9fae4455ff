"""Devices that receive wrongly: handler, attempts, checks, what is acked and what is told (RCV, MTA-001)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adapters.deviation import Mutant, peek, with_checks, with_recipient
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.effects import DeliverAck, HandlerGaveUp, Issue, Message, Unauthorized, Unreadable
from reference_impl.device.errors import ApiError
from reference_impl.device.limits import Limits
from reference_impl.device.notices import Listeners, Notices
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.recipient import Handling, Recipient
from reference_impl.device.verdicts import Drop, Verdict
from reference_impl.wire.content import Content, Member, Sealed, Tag
from reference_impl.wire.json_types import Json

Check = Callable[[Blob], Verdict | None]


# -- before there is a handler


class EarlySession(ReceiveSession):
    def may_open(self) -> bool:
        return self._connection.usable


class HandlesUnasked(Recipient):
    def may_take_next(self) -> bool:
        return bool(self._waiting) and self._handling is None


class PullsOnConnect(Device):
    receive_session_class = EarlySession
    recipient_class = HandlesUnasked


class DropsUnasked(Recipient):
    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        verdict = self._checks.judge(Blob(session, blob_id, envelope))
        if isinstance(verdict, Drop) and not self.has_handler and session == self._session.current:
            self.drop(Blob(session, blob_id, envelope), verdict.issue)
        else:
            super().deliver(session, blob_id, envelope)


class ClearsUpOnConnect(Device):
    receive_session_class = EarlySession
    recipient_class = DropsUnasked


class CloseEndsHandlers(Device):
    def close(self) -> None:
        handling = self.recipient._handling
        if handling is not None:
            self.recipient.finish(handling, None)
        super().close()


# -- one handler


class SecondHandlerReplaces(Device):
    def on_message(self) -> str:
        self.recipient.cancel_handler(self.last_handle)
        self.last_handle = super().on_message()
        return self.last_handle

    last_handle = ""


class RefusedHandlerUnsetsFirst(Device):
    first_handle = ""

    def on_message(self) -> str:
        try:
            handle = super().on_message()
        except ApiError:
            self.recipient.cancel_handler(self.first_handle)
            raise
        self.first_handle = self.first_handle or handle
        return handle


class SecondHandlerIgnored(Device):
    def on_message(self) -> str:
        return "handle-0" if self.recipient.has_handler else super().on_message()


class CancelDoesNothing(Recipient):
    def cancel_handler(self, handle: str) -> None:
        pass


class CancelLeavesReceiving(Recipient):
    """Its handler is gone, and the Blobs go with it."""

    def may_take_next(self) -> bool:
        return bool(self._waiting) and self._handling is None

    def hand_over(self, blob: Blob, message: Message) -> None:
        if self.has_handler:
            super().hand_over(blob, message)
        else:
            self.ack(blob)


class CancelLeavesRetries(Recipient):
    def retry_if_due(self) -> None:
        handling = self._handling
        if handling is not None and handling.retry_at is not None and handling.retry_at <= self._context.now:
            self.call_handler(handling)

    def next_timer(self) -> int | None:
        return self._handling.retry_at if self._handling is not None else super().next_timer()


class NeverASecondRegistration(Device):
    registered = False

    def on_message(self) -> str:
        self._require_open()
        if self.registered:
            raise ApiError("messageHandlerAlreadySet")
        self.registered = True
        return super().on_message()


# -- events


class ForgetfulListeners(Listeners):
    def keeps_unheard(self) -> bool:
        return False


class ForgetfulNotices(Notices):
    listeners_class = ForgetfulListeners


class EarlyEventsLost(Device):
    notices_class = ForgetfulNotices


# -- one at a time, in order


class HandlersInParallel(Recipient):
    def __init__(
        self, context: Context, notices: Notices, session: ReceiveSession, checks: Checks, dedup: DedupTable
    ) -> None:
        super().__init__(context, notices, session, checks, dedup)
        self._running: dict[int, Handling] = {}

    def may_take_next(self) -> bool:
        return bool(self._waiting) and self.has_handler

    def call_handler(self, handling: Handling) -> None:
        super().call_handler(handling)
        if handling.request is not None:
            self._running[handling.request] = handling

    def handler_ended(self, request: int, error: str | None) -> None:
        self._handling = self._running.pop(request, None)
        super().handler_ended(request, error)


class RequeuesWhatThrew(Recipient):
    """As a broker does with a negative ack: to the end of the queue."""

    def __init__(
        self, context: Context, notices: Notices, session: ReceiveSession, checks: Checks, dedup: DedupTable
    ) -> None:
        super().__init__(context, notices, session, checks, dedup)
        self._attempts: dict[str, int] = {}

    def hand_over(self, blob: Blob, message: Message) -> None:
        self._handling = Handling(blob, message, attempts=self._attempts.get(message.id, 0))
        self.call_handler(self._handling)

    def retry_later(self, handling: Handling) -> None:
        if not self._waiting:
            super().retry_later(handling)
            return
        self._attempts[handling.message.id] = handling.attempts
        self._waiting.append(handling.blob)
        self._handling = None


class NextDuringBackoff(Recipient):
    """While one message waits for its next attempt, the one behind it is handled."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        paused = self._handling
        if paused is not None and paused.request is None:
            self._handling = None
            super().deliver(session, blob_id, envelope)
            self._handling = self._handling or paused
        else:
            super().deliver(session, blob_id, envelope)


class NewestFirst(Recipient):
    def take_next(self) -> Blob:
        return self._waiting.pop()


class BySenderTimestamp(Recipient):
    def take_next(self) -> Blob:
        first = min(self._waiting, key=self._stamp)
        self._waiting.remove(first)
        return first

    def _stamp(self, blob: Blob) -> int:
        content = peek(self, blob.envelope)
        return content.sender_timestamp if content is not None else 0


# -- what the handler gets


class BodyAsText(Checks):
    def message(self, content: Content) -> Message:
        return super().message(replace(content, body=content.body.decode("utf-8", "replace").encode()))


class BodyWithoutMark(Checks):
    def message(self, content: Content) -> Message:
        return super().message(replace(content, body=content.body.removeprefix(b"\xef\xbb\xbf")))


class BodyStripped(Checks):
    def message(self, content: Content) -> Message:
        return super().message(replace(content, body=content.body.strip()))


class BodyEndsAtZero(Checks):
    def message(self, content: Content) -> Message:
        return super().message(replace(content, body=content.body.split(b"\0")[0]))


class BodyCutAtSixtyThousand(Checks):
    def message(self, content: Content) -> Message:
        return super().message(replace(content, body=content.body[:60_000]))


class FromByNoiseKey(Checks):
    def message(self, content: Content) -> Message:
        message = super().message(content)
        return replace(message, sender=replace(message.sender, signing_pub=message.sender.noise_pub))


class IdIsTheSequence(Checks):
    def message(self, content: Content) -> Message:
        return replace(super().message(content), id=f"tsm1_{content.sequence}")


class SequenceAsFloat(Checks):
    def message(self, content: Content) -> Message:
        message = super().message(content)
        rounded = min(int(float(content.sequence)), 2**64 - 1)
        return replace(message, id=replace(content, sequence=rounded).message_id)


# -- handler, record, ack


class AcksFirst(Recipient):
    def hand_over(self, blob: Blob, message: Message) -> None:
        self.ack(blob)
        super().hand_over(blob, message)


class RecordsFirst(Recipient):
    def hand_over(self, blob: Blob, message: Message) -> None:
        super().record(blob.content)
        super().hand_over(blob, message)

    def record(self, content: Content) -> None:
        pass


class AcksBeforeRecording(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        self.ack(handling.blob)
        self.record(handling.blob.content)
        if issue is not None:
            self._notices.issue(issue)
        self._handling = None


class RecordsNothing(Recipient):
    def record(self, content: Content) -> None:
        pass


class DoesNotAwait(Recipient):
    """Starts the handler and is done with the message."""

    def hand_over(self, blob: Blob, message: Message) -> None:
        super().hand_over(blob, message)
        if self._handling is not None:
            self.finish(self._handling, None)


# -- attempts


def _attempts(count: int) -> type[Device]:
    class Deviating(Device):
        limits = replace(Limits(), handler_attempts=count)

    return Deviating


class RetriesWithoutPause(Recipient):
    def retry_later(self, handling: Handling) -> None:
        self.call_handler(handling)


class NeverGivesUp(Recipient):
    def gives_up_after(self, attempts: int) -> bool:  # noqa: ARG002 - the answer is always the same
        return False


class FailuresOfAllMessages(Recipient):
    """Counts the calls that threw, whatever they were for."""

    failures = 0

    def gives_up_after(self, attempts: int) -> bool:  # noqa: ARG002 - that is the mistake
        self.failures += 1
        return self.failures >= self._context.limits.handler_attempts


class GivesUpSilently(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:  # noqa: ARG002 - that is the mistake
        super().finish(handling, None)


class GivesNoReason(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        super().finish(handling, replace(issue, error="failed") if isinstance(issue, HandlerGaveUp) else issue)


class GaveUpStaysUnacked(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        if issue is None:
            super().finish(handling, None)
        else:
            self._notices.issue(issue)
            self._handling = None


class GaveUpBlocksTheRest(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        super().finish(handling, issue)
        if issue is not None:
            self._handling = handling


class GaveUpTriedTomorrow(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        super().finish(handling, issue)
        if isinstance(issue, HandlerGaveUp):
            handling.retry_at = self._context.now + 3_600_000
            self._handling = handling


class ThrewIsEnded(Recipient):
    """Takes a handler that threw for one that is done."""

    def handler_ended(self, request: int, error: str | None) -> None:  # noqa: ARG002 - that is the mistake
        super().handler_ended(request, None)


class RetryForgottenAtStart(Recipient):
    """Acks what it has still to try again, for it keeps that in memory."""

    def retry_later(self, handling: Handling) -> None:
        super().retry_later(handling)
        if handling.attempts == 1:
            self.ack(handling.blob)


# -- a handler that does not end


class HandlerTimesOut(Recipient):
    timeout = 30_000
    started_at = 0

    def call_handler(self, handling: Handling) -> None:
        super().call_handler(handling)
        self.started_at = self._context.now

    def tick(self) -> None:
        handling = self._handling
        if handling is not None and handling.request is not None and self._ends_at() <= self._context.now:
            self.handler_ended(handling.request, "it took too long")
        super().tick()

    def next_timer(self) -> int | None:
        running = self._handling is not None and self._handling.request is not None
        return self._ends_at() if running else super().next_timer()

    def _ends_at(self) -> int:
        return self.started_at + self.timeout


class HandlerTimesOutAfterADay(HandlerTimesOut):
    timeout = 86_400_000


class DropsPastTheHandler(Recipient):
    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        blob = Blob(session, blob_id, envelope)
        verdict = self._checks.judge(blob)
        if self._handling is not None and isinstance(verdict, Drop) and self.overtakes(verdict):
            self.drop(blob, verdict.issue)
        else:
            super().deliver(session, blob_id, envelope)

    def overtakes(self, verdict: Drop) -> bool:
        return verdict.issue is not None


class AcksDuplicatesPastTheHandler(DropsPastTheHandler):
    def overtakes(self, verdict: Drop) -> bool:
        return verdict.issue is None


# -- what cannot be used


class UnusableStaysUnacked(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if issue is None:
            self.ack(blob)
        else:
            self._notices.issue(issue)


class StrangersStayUnacked(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if isinstance(issue, Unauthorized):
            self._notices.issue(issue)
        else:
            super().drop(blob, issue)


class UnusableIsSilent(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:  # noqa: ARG002 - that is the mistake
        super().drop(blob, None)


class StopsAtTheFirstBadBlob(Recipient):
    """An exception that nobody catches ends its loop."""

    stopped = False

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        super().drop(blob, issue)
        self.stopped = self.stopped or issue == Unreadable("malformed")

    def may_take_next(self) -> bool:
        return super().may_take_next() and not self.stopped


class SignatureUnchecked(Checks):
    def check_signature(self, _blob: Blob) -> Verdict | None:
        return None


class SignatureCheckedOnce(Checks):
    """Trusts whoever has signed a message before."""

    trusted: frozenset[str] = frozenset()

    def check_signature(self, blob: Blob) -> Verdict | None:
        author = blob.content.author_pub
        verdict = None if author in self.trusted else super().check_signature(blob)
        if verdict is None:
            self.trusted |= {author}
        return verdict


class UnknownTagIsSync(Checks):
    def check_decrypts(self, blob: Blob) -> Verdict | None:
        verdict = super().check_decrypts(blob)
        if blob.sealed is not None and blob.content.tag not in tuple(Tag):
            blob.sealed = Sealed(replace(blob.content, tag=Tag.SYNC), blob.sealed.signature_valid)
        return verdict


class UnknownTagIsSilent(Checks):
    def check_tag(self, blob: Blob) -> Verdict | None:
        return Drop(None) if super().check_tag(blob) else None


class StrangersWelcome(Checks):
    def check_sender(self, _blob: Blob) -> Verdict | None:
        return None

    def message(self, content: Content) -> Message:
        sender = self._state.member(content.author_pub) or Member(content.author_pub, content.author_pub, "?")
        return Message(content.message_id, sender, content.body)


class MembersForEver(Checks):
    """Looks the members up once."""

    known: dict[str, Member]

    def check_sender(self, blob: Blob) -> Verdict | None:
        if not hasattr(self, "known"):
            self.known = {member.signing_pub: member for member in self._state.others()}
        return None if blob.content.author_pub in self.known else Drop(Unauthorized())

    def message(self, content: Content) -> Message:
        return Message(content.message_id, self.known[content.author_pub], content.body)


class StrangersAreMalformed(Checks):
    def check_sender(self, blob: Blob) -> Verdict | None:
        return Drop(Unreadable("malformed")) if super().check_sender(blob) else None


class StrangersAreSilent(Checks):
    def check_sender(self, blob: Blob) -> Verdict | None:
        return Drop(None) if super().check_sender(blob) else None


# -- the order of the checks


def _moved(name: str, before: str) -> type[Device]:
    """One check earlier than it belongs: right before the named one."""

    class Reordered(Checks):
        def checks(self) -> tuple[Check, ...]:
            order = [check.__name__ for check in super().checks()]
            order.remove(name)
            order.insert(order.index(before), name)
            return tuple(getattr(self, each) for each in order)

        def check_rules(self, blob: Blob) -> Verdict | None:
            return self.check_tag(blob) or super().check_rules(blob)

    return with_checks(Reordered)


class LooksInsideOldVersions(Checks):
    """Tells what is malformed before it looks whether the version is still spoken."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        if isinstance(verdict, Drop) and blob.version:
            return self.check_decrypts(blob) or self.check_signature(blob) or verdict
        return verdict


class OldDuplicatesAreSilent(Checks):
    """Looks the Message ID up before it looks at the version."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        readable = self.check_decrypts(blob) is None
        return Drop(None) if verdict is not None and readable and self._dedup.knows(blob.content) else verdict


# -- records, duplicates, issues


class DropsLeaveARecord(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if blob.sealed is not None and issue is not None:
            self.record(blob.content)
        super().drop(blob, issue)


class StrangersLeaveARecord(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if blob.sealed is not None and isinstance(issue, Unauthorized):
            self.record(blob.content)
        super().drop(blob, issue)


class DuplicatesStayUnacked(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if issue is not None:
            super().drop(blob, issue)


class DuplicatesAreReported(Checks):
    def check_duplicate(self, blob: Blob) -> Verdict | None:
        return Drop(Unreadable("malformed")) if super().check_duplicate(blob) else None


class DuplicatesAreHandled(Checks):
    def check_duplicate(self, _blob: Blob) -> Verdict | None:
        return None


class SecondDuplicateStaysUnacked(Recipient):
    acked: frozenset[str] = frozenset()

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if issue is None and blob.content.message_id in self.acked:
            return
        if issue is None:
            self.acked |= {blob.content.message_id}
        super().drop(blob, issue)


class TellsTheSender(Recipient):
    """Answers what it cannot use with a message."""

    complain: Callable[[bytes], str]

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        super().drop(blob, issue)
        if issue is not None:
            self.complain(b"I could not use your message.")


class NegativeReceipts(Device):
    recipient_class = TellsTheSender

    def _connect_parts(self) -> None:
        super()._connect_parts()
        if isinstance(self.recipient, TellsTheSender):
            self.recipient.complain = self.send


class OneIssueOfAKind(Notices):
    told: tuple[Issue, ...] = ()

    def issue(self, issue: Issue) -> None:
        if issue not in self.told:
            super().issue(issue)
        self.told = (*self.told, issue)


class IssuesOnce(Device):
    notices_class = OneIssueOfAKind


class IssuesTwice(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if issue is not None:
            self._notices.issue(issue)
        super().drop(blob, issue)


class AcksDropsOnce(Recipient):
    """Remembers what it dropped, and leaves it alone when it comes again."""

    dropped: frozenset[str] = frozenset()

    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if blob.blob_id not in self.dropped:
            super().drop(blob, issue)
        self.dropped |= {blob.blob_id}


# -- sessions


class SessionTakesHandlerAlong(Recipient):
    """Forgets the running handler with the session that brought its message."""

    def disconnected(self) -> None:
        super().disconnected()
        self._handling = None


class AttemptsPerSession(Recipient):
    """Takes a message that a new session brings for one that was never tried."""

    def disconnected(self) -> None:
        super().disconnected()
        if self._handling is not None and self._handling.request is None:
            self._handling = None


class ResultLostWithSession(Recipient):
    def finish(self, handling: Handling, issue: Issue | None) -> None:
        if handling.blob.session == self._session.current:
            super().finish(handling, issue)
        else:
            self._handling = None


class KnowsBlobsByTheirId(Recipient):
    """Ignores what it has in hand, and acks it on the session that brought it first."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        if self._handling is None or self._handling.blob.blob_id != blob_id:
            super().deliver(session, blob_id, envelope)


class RedeliveryIsOneMoreAttempt(Recipient):
    """Tries at once what is delivered again, and once more when the pause is over."""

    def deliver(self, session: str, blob_id: str, envelope: Json) -> None:
        handling = self._handling
        if handling is not None and handling.retry_at is not None and handling.blob.blob_id == blob_id:
            later = handling.retry_at
            self.call_handler(handling)
            handling.retry_at = later
        super().deliver(session, blob_id, envelope)


# -- what the relay learns


@dataclass(frozen=True, slots=True)
class TellingAck(DeliverAck):
    outcome: str


class TellsOutcome(Recipient):
    def drop(self, blob: Blob, issue: Issue | None) -> None:
        if issue is not None:
            self._notices.issue(issue)
        self._tell(blob, "dropped" if issue is not None else "duplicate")

    def ack(self, blob: Blob) -> None:
        self._tell(blob, "handled")

    def _tell(self, blob: Blob, outcome: str) -> None:
        if blob.session == self._session.current:
            self._context.emit(TellingAck(blob.session, blob.blob_id, outcome))


_RECIPIENTS: tuple[tuple[str, str, str, type[Recipient]], ...] = (
    ("cancel-does-nothing", "RCV-016", "goes on calling a handler that was cancelled", CancelDoesNothing),
    ("cancel-leaves-receiving", "RCV-016", "acks what comes after its handler was cancelled", CancelLeavesReceiving),
    ("cancel-leaves-retries", "RCV-016", "tries a cancelled handler again", CancelLeavesRetries),
    ("handlers-in-parallel", "RCV-004", "starts a handler for each message at once", HandlersInParallel),
    ("requeues-what-threw", "RCV-004", "puts a message that threw behind the others", RequeuesWhatThrew),
    ("next-during-backoff", "RCV-004", "handles the next message between two attempts", NextDuringBackoff),
    ("newest-first", "RCV-005", "takes the newest of the waiting Blobs first", NewestFirst),
    ("by-sender-timestamp", "RCV-005", "takes waiting Blobs in the order of their stamps", BySenderTimestamp),
    ("acks-first", "RCV-007", "acks a message before its handler runs", AcksFirst),
    ("records-first", "RCV-007", "records a message before its handler runs", RecordsFirst),
    ("acks-before-recording", "RCV-007", "acks a message before it is recorded", AcksBeforeRecording),
    ("records-nothing", "RCV-007", "records nothing before it acks", RecordsNothing),
    ("does-not-await", "RCV-007", "does not wait for its handler", DoesNotAwait),
    ("retries-without-pause", "RCV-008", "makes all attempts at once", RetriesWithoutPause),
    ("never-gives-up", "RCV-008", "tries a handler for ever", NeverGivesUp),
    ("failures-of-all-messages", "RCV-008", "counts the attempts of all messages together", FailuresOfAllMessages),
    ("gives-up-silently", "RCV-008", "gives up without an issue", GivesUpSilently),
    ("gives-up-without-the-error", "RCV-008", "gives up without the error of the handler", GivesNoReason),
    ("gave-up-stays-unacked", "RCV-008", "leaves un-acked what it gave up", GaveUpStaysUnacked),
    ("gave-up-blocks-the-rest", "RCV-008", "handles nothing after it gave up once", GaveUpBlocksTheRest),
    ("gave-up-tried-later", "RCV-008", "tries once more an hour after it gave up", GaveUpTriedTomorrow),
    ("threw-is-ended", "RCV-008", "takes a handler that threw for one that returned", ThrewIsEnded),
    ("acks-between-attempts", "RCV-008", "acks what it has still to try again", RetryForgottenAtStart),
    (
        "attempts-per-session",
        "RCV-008",
        "begins the attempts anew on each Receive Session",
        AttemptsPerSession,
    ),
    ("handler-times-out", "RCV-009", "gives a handler 30 seconds", HandlerTimesOut),
    ("handler-times-out-after-a-day", "RCV-009", "gives a handler a day", HandlerTimesOutAfterADay),
    ("drops-past-the-handler", "RCV-009", "acks unusable Blobs while a handler runs", DropsPastTheHandler),
    (
        "duplicates-past-the-handler",
        "RCV-009",
        "acks duplicates while the handler of another message runs",
        AcksDuplicatesPastTheHandler,
    ),
    ("unusable-stays-unacked", "RCV-010", "does not ack what it cannot use", UnusableStaysUnacked),
    ("unusable-is-silent", "RCV-010", "drops without an issue", UnusableIsSilent),
    ("stops-at-bad-blob", "RCV-010", "takes nothing any more after a malformed Blob", StopsAtTheFirstBadBlob),
    ("strangers-stay-unacked", "RCV-011", "does not ack what a stranger sent", StrangersStayUnacked),
    ("drops-leave-a-record", "RCV-013", "records what it drops", DropsLeaveARecord),
    ("strangers-leave-a-record", "RCV-013", "records what a stranger sent", StrangersLeaveARecord),
    ("duplicates-stay-unacked", "RCV-014", "does not ack duplicates", DuplicatesStayUnacked),
    ("second-duplicate-unacked", "RCV-014", "acks one duplicate of a message only", SecondDuplicateStaysUnacked),
    ("issues-twice", "RCV-017", "raises each issue of a drop twice", IssuesTwice),
    ("acks-drops-once", "RCV-017", "does not ack a dropped Blob that comes again", AcksDropsOnce),
    ("session-takes-handler-along", "RCV-018", "forgets a running handler with its session", SessionTakesHandlerAlong),
    (
        "result-lost-with-session",
        "RCV-018",
        "forgets what a handler returned to after its session",
        ResultLostWithSession,
    ),
    ("blobs-known-by-id", "RCV-018", "acks on the session that is gone", KnowsBlobsByTheirId),
    (
        "redelivery-is-one-more-attempt",
        "RCV-018",
        "tries a message again with each session",
        RedeliveryIsOneMoreAttempt,
    ),
    ("tells-outcome", "MTA-001", "tells the relay what became of a Blob", TellsOutcome),
)

_CHECKS: tuple[tuple[str, str, str, type[Checks]], ...] = (
    ("received-as-text", "RCV-006", "takes a body for UTF-8 text", BodyAsText),
    ("received-without-mark", "RCV-006", "removes a byte order mark from a body", BodyWithoutMark),
    ("received-stripped", "RCV-006", "strips white space around a body", BodyStripped),
    ("received-up-to-zero", "RCV-006", "ends a body at its first zero byte", BodyEndsAtZero),
    ("received-cut", "RCV-006", "cuts bodies off at 60,000 bytes", BodyCutAtSixtyThousand),
    ("from-by-noise-key", "RCV-006", "names the sender by another key than members does", FromByNoiseKey),
    ("id-is-the-sequence", "RCV-006", "takes the Sequence alone for the Message ID", IdIsTheSequence),
    ("sequence-as-float", "RCV-006", "reads a Sequence as a floating-point number", SequenceAsFloat),
    ("signature-unchecked", "RCV-010", "verifies no signature", SignatureUnchecked),
    ("signature-checked-once", "RCV-010", "verifies the first signature of each sender only", SignatureCheckedOnce),
    ("unknown-tag-is-sync", "RCV-010", "hands unknown tags to the handler", UnknownTagIsSync),
    ("unknown-tag-is-silent", "RCV-010", "drops unknown tags without an issue", UnknownTagIsSilent),
    ("strangers-welcome", "RCV-011", "handles what a stranger sent", StrangersWelcome),
    ("members-for-ever", "RCV-011", "looks at the members of the first hour", MembersForEver),
    ("strangers-are-malformed", "RCV-011", "calls a stranger's message malformed", StrangersAreMalformed),
    ("strangers-are-silent", "RCV-011", "drops a stranger's message without an issue", StrangersAreSilent),
    ("looks-inside-old-versions", "RCV-012", "decrypts before it looks at an older version", LooksInsideOldVersions),
    ("duplicates-of-any-version", "RCV-012", "looks a Message ID up before the version", OldDuplicatesAreSilent),
    ("duplicates-are-reported", "RCV-014", "raises an issue for a duplicate", DuplicatesAreReported),
    ("duplicates-are-handled", "RCV-014", "handles duplicates", DuplicatesAreHandled),
)

_DEVICES: tuple[tuple[str, str, str, type[Device]], ...] = (
    ("pulls-on-connect", "RCV-001", "handles what waits as soon as it is connected", PullsOnConnect),
    ("clears-up-on-connect", "RCV-001", "acks unusable Blobs before there is a handler", ClearsUpOnConnect),
    ("second-handler-replaces", "RCV-002", "lets a second handler replace the first", SecondHandlerReplaces),
    ("second-handler-ignored", "RCV-002", "takes a second handler and never calls it", SecondHandlerIgnored),
    ("refused-handler-unsets", "RCV-002", "loses the first handler over a second", RefusedHandlerUnsetsFirst),
    ("one-registration-ever", "RCV-016", "refuses a handler after a cancelled one", NeverASecondRegistration),
    ("close-ends-handlers", "RCV-007", "takes a handler that close() cut off for one that ended", CloseEndsHandlers),
    ("early-events-lost", "RCV-003", "drops events that nobody listens to", EarlyEventsLost),
    ("four-attempts", "RCV-008", "gives up after four attempts", _attempts(4)),
    ("six-attempts", "RCV-008", "gives up after six attempts", _attempts(6)),
    ("one-attempt", "RCV-008", "gives up at once", _attempts(1)),
    (
        "window-before-decryption",
        "RCV-012",
        "looks at the stamp before the signature",
        _moved("check_replay_window", "check_signature"),
    ),
    (
        "rules-before-signature",
        "RCV-012",
        "looks at the sender before the signature",
        _moved("check_rules", "check_signature"),
    ),
    (
        "rules-before-window",
        "RCV-012",
        "looks at the sender before the stamp",
        _moved("check_rules", "check_replay_window"),
    ),
    (
        "duplicates-before-signature",
        "RCV-012",
        "looks a Message ID up before the signature",
        _moved("check_duplicate", "check_signature"),
    ),
    (
        "duplicates-before-window",
        "RCV-012",
        "looks a Message ID up before the stamp",
        _moved("check_duplicate", "check_replay_window"),
    ),
    (
        "duplicates-before-rules",
        "RCV-012",
        "looks a Message ID up before the sender",
        _moved("check_duplicate", "check_rules"),
    ),
    ("negative-receipts", "RCV-015", "answers what it cannot use with a message", NegativeReceipts),
    ("one-issue-of-a-kind", "RCV-017", "raises each kind of issue once", IssuesOnce),
)

MUTANTS: tuple[Mutant, ...] = (
    *(Mutant(name, breaks, does, with_recipient(part)) for name, breaks, does, part in _RECIPIENTS),
    *(Mutant(name, breaks, does, with_checks(part)) for name, breaks, does, part in _CHECKS),
    *(Mutant(name, breaks, does, device) for name, breaks, does, device in _DEVICES),
)
