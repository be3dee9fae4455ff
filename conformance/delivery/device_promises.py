"""What holds of every run of a device, whatever the vector is about: properties of the whole history.

A call or an answer that a crash cut off is indefinite: it may have taken effect or not. `Killed.settled` says how much
of the history was certain when the device died; the promises give a device the benefit of the doubt for the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.delivery.device_records import (
    Called,
    CallFailed,
    DeliverAcked,
    Delivered,
    EventRaised,
    HandlerCalled,
    HandlerEnded,
    IssueRaised,
    Network,
    PushAnswered,
    Pushed,
    SendReturned,
    Started,
)
from conformance.delivery.group import PROVISIONED_GROUP
from conformance.delivery.life import EPOCH, Killed, uncertain
from conformance.delivery.peers import CODEC
from conformance.durations import by_words
from conformance.engine.record import Breach, History, Record
from reference_impl.wire.content import MalformedError, Tag

TEMPORARY = frozenset(("inbox_full", "rate_limited", "unavailable", "internal_error"))
ATTEMPTS = 5
DROPS = frozenset(("unreadable", "unauthorized"))
"""Issues that say that a Blob was dropped."""
FIRST_RETRY = 1000
"""In ms: SND-011."""
DAY = 86_400_000
OUTBOX_EXPIRY = 30 * DAY
"""In ms: SND-016."""


# -- sending ----------------------------------------------------------------------------------------------------------


def pushes_carry_their_send(history: History) -> Iterator[Breach]:
    """SND-018, SND-026: timestamp and body of every push are those of `send()`."""
    sends = {each.message_id: each for each in history if isinstance(each, SendReturned) and each.message_id}
    first: dict[str, Pushed] = {}
    for record in history:
        if not isinstance(record, Pushed) or record.tag != Tag.SYNC:
            continue
        send = sends.get(record.message_id)
        if send is not None and send.body != record.body:
            yield Breach("SND-026", f"the push of {send.label} carries another body than send() was given", record)
        if send is not None and record.sender_timestamp != EPOCH + send.at:
            yield Breach("SND-018", _stamp_words(record.sender_timestamp - EPOCH, send.at), record)
        earlier = first.setdefault(record.message_id, record)
        if earlier.sender_timestamp != record.sender_timestamp:
            yield Breach(
                "SND-018", _stamp_words(record.sender_timestamp - EPOCH, earlier.sender_timestamp - EPOCH), record
            )


def _stamp_words(got: int, wanted: int) -> str:
    return f"the Sender Timestamp is {by_words(got)} after the start, the message was stamped at {by_words(wanted)}"


def sequences_are_used_once(history: History) -> Iterator[Breach]:
    """SND-023, SND-025: one Sequence is one message, and a later send has a greater one."""
    body: dict[str, Pushed] = {}
    sequence_of: dict[str, int] = {}
    for record in history:
        if isinstance(record, Pushed):
            sequence_of[record.message_id] = record.sequence
            first = body.setdefault(record.message_id, record)
            if first.tag != record.tag or (record.tag == Tag.SYNC and first.body != record.body):
                yield Breach("SND-025", f"Sequence {record.sequence} is used for two messages", record)
    seen: dict[str, bytes] = {}
    highest = -1
    for record in history:
        if isinstance(record, EventRaised) and record.details.get("status") == "notJoined":
            highest = -1
        if not isinstance(record, SendReturned) or not record.message_id:
            continue
        if record.message_id in seen:
            clause = "SND-023" if seen[record.message_id] == record.body else "SND-025"
            yield Breach(clause, f"two sends have the Message ID {record.message_id}", record)
        seen[record.message_id] = record.body
        sequence = sequence_of.get(record.message_id, highest + 1)
        if sequence <= highest:
            yield Breach("SND-025", f"Sequence {sequence} of a later send is not greater than {highest}", record)
        highest = max(highest, sequence)


@dataclass(slots=True)
class _Entry:
    """What one outbox entry, one message for one recipient, has come to.

    `doubtful`: it may be gone and may be pushed again. `passed`: it was doubtful, and a later one went out since.
    `expires_at` is in ms since the start, None for what never expires.
    """

    sequence: int
    expires_at: int | None = None
    state: str = "flying"
    refused_at: int = -1

    def waits_at(self, at: int) -> bool:
        """Whether it holds back what is behind it: one of 30 days may be given up, and its issue be lost in a crash."""
        return self.state == "queued" and (self.expires_at is None or at < self.expires_at)


@dataclass(slots=True)
class _Outbox:
    entries: dict[tuple[str, str], dict[str, _Entry]] = field(default_factory=lambda: defaultdict(dict))
    author_of: dict[str, str] = field(default_factory=dict)

    def lane(self, message_id: str, recipient: str) -> dict[str, _Entry]:
        return self.entries[(self.author_of.get(message_id, ""), recipient)]

    def all(self) -> Iterator[_Entry]:
        return (entry for lane in self.entries.values() for entry in lane.values())

    def requeue_flying(self) -> None:
        for entry in self.all():
            if entry.state == "flying":
                entry.state = "queued"

    def expire(self, message_id: str, state: str) -> None:
        for lane in self.entries.values():
            if message_id in lane and lane[message_id].state in ("queued", "flying"):
                lane[message_id].state = state

    def abandon(self) -> None:
        for entry in self.all():
            if entry.state in ("queued", "flying"):
                entry.state = "doubtful"


def outbox_keeps_its_order(history: History) -> Iterator[Breach]:
    """SND-007, SND-011, SND-013, SND-015, SND-016: what may be pushed, and when, for each recipient."""
    outbox = _Outbox()
    doubtful = uncertain(history)
    for position, record in enumerate(history):
        if isinstance(record, Pushed):
            outbox.author_of[record.message_id] = record.author_pub
            yield from _judge_push(outbox.lane(record.message_id, record.recipient), record)
        elif isinstance(record, PushAnswered) and position in doubtful:
            _doubt_answer(outbox.lane(record.message_id, record.recipient), record)
        elif isinstance(record, PushAnswered):
            yield from _judge_answer(outbox.lane(record.message_id, record.recipient), record)
        elif isinstance(record, Killed):
            outbox.requeue_flying()
        elif isinstance(record, Network | Started):
            for entry in outbox.all():
                entry.refused_at = -1
        elif isinstance(record, IssueRaised) and record.details.get("reason") == "expired":
            outbox.expire(str(record.details.get("message_id", "")), "doubtful" if position in doubtful else "expired")
        elif _may_abandon(record):
            outbox.abandon()


def _may_abandon(record: Record) -> bool:
    """A device that leaves or destroys drops what waits, without a word (CTL-005)."""
    if isinstance(record, Called):
        return record.method in ("leave", "destroy_group")
    if isinstance(record, Delivered):
        return record.tag == Tag.REVOKE
    return isinstance(record, EventRaised) and record.details.get("status") in ("leaving", "destroying")


DONE = {
    "acked": ("SND-007", "the relay has acked it"),
    "failed": ("SND-015", "the relay has refused it for good"),
    "expired": ("SND-016", "it was reported as expired"),
    "passed": ("SND-013", "a later message was pushed after the crash, as if this one were done with"),
}


def _judge_push(lane: dict[str, _Entry], pushed: Pushed) -> Iterator[Breach]:
    what = f"{pushed.message_id} is pushed to {pushed.recipient}"
    entry = lane.get(pushed.message_id)
    if entry is not None and entry.state in DONE:
        clause, why = DONE[entry.state]
        yield Breach(clause, f"{what} again although {why}", pushed)
    expires_at = _expires_at(pushed)
    if expires_at is not None and pushed.at > expires_at:
        yield Breach("SND-016", f"{what} {by_words(pushed.at - expires_at)} after its 30 days were over", pushed)
    if entry is not None and entry.refused_at >= 0 and pushed.at - entry.refused_at < FIRST_RETRY:
        late = by_words(pushed.at - entry.refused_at)
        yield Breach("SND-011", f"{what} again {late} after a temporary refusal, before 1s", pushed)
    for other_id, other in lane.items():
        if other.sequence < pushed.sequence and other.waits_at(pushed.at):
            yield Breach("SND-013", f"{what} while {other_id}, sent before it, is queued for retry", pushed)
        if entry is None and other.sequence > pushed.sequence:
            yield Breach("SND-013", f"{what} after {other_id}, which was sent later", pushed)
        if other.sequence < pushed.sequence and other.state == "doubtful":
            other.state = "passed"
    lane[pushed.message_id] = _Entry(pushed.sequence, expires_at)


def _expires_at(pushed: Pushed) -> int | None:
    """Only Sync entries do (SND-017)."""
    return pushed.sender_timestamp - EPOCH + OUTBOX_EXPIRY if pushed.tag == Tag.SYNC else None


def _doubt_answer(lane: dict[str, _Entry], answer: PushAnswered) -> None:
    """A crash came before the device was quiet again: what the answer ended may be pushed once more, or not."""
    entry = lane.get(answer.message_id)
    is_end = answer.outcome == "ack" or (answer.code and answer.code not in TEMPORARY)
    if entry is not None and is_end:
        entry.state = "doubtful"


def _judge_answer(lane: dict[str, _Entry], answer: PushAnswered) -> Iterator[Breach]:
    entry = lane.get(answer.message_id)
    if entry is None:
        return
    if answer.outcome == "ack":
        entry.state = "acked"
    elif answer.code and answer.code not in TEMPORARY:
        entry.state = "failed"
    else:
        entry.state = "queued"
        entry.refused_at = answer.at if answer.code else -1
        if any(other.sequence > entry.sequence and other.state == "acked" for other in lane.values()):
            yield Breach(
                "SND-013",
                f"a later message for {answer.recipient} was accepted before {answer.message_id}, "
                "which must be pushed again: they went out together",
                answer,
            )


@dataclass(slots=True)
class _FirstPushes:
    """The sends that returned and are still to be pushed a first time, for each recipient, and what was seen when."""

    waiting: dict[str, dict[str, tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))
    """By recipient and message: at which position of the history its send() returned, and when it expires."""
    seen: dict[str, int] = field(default_factory=dict)
    pushed: set[tuple[str, str]] = field(default_factory=set)
    killed: int = -1

    def returned(self, send: SendReturned, position: int) -> None:
        self.seen.setdefault(send.message_id, position)
        for name in send.recipients:
            if (send.message_id, name) not in self.pushed:
                self.waiting[name][send.message_id] = (position, send.at + OUTBOX_EXPIRY)

    def push(self, pushed: Pushed, position: int) -> Iterator[Breach]:
        seen = self.seen.setdefault(pushed.message_id, position)
        self.pushed.add((pushed.message_id, pushed.recipient))
        waiting = self.waiting[pushed.recipient]
        waiting.pop(pushed.message_id, None)
        for message_id, (returned, expires_at) in waiting.items():
            if returned < seen and pushed.at < expires_at:
                clause = "CRS-002" if returned < self.killed else "SND-013"
                what = f"{pushed.message_id} is pushed to {pushed.recipient}"
                yield Breach(clause, f"{what}, and {message_id}, which send() promised before, never was", pushed)

    def forget(self, message_id: str) -> None:
        for waiting in self.waiting.values():
            waiting.pop(message_id, None)


def sends_are_pushed_in_order(history: History) -> Iterator[Breach]:
    """SND-013, CRS-002: what is pushed to a recipient a first time comes behind all that `send()` promised before.

    Where a crash cut off a send(), its place among the others is not known, and nothing is said from there on.
    """
    first = _FirstPushes()
    sending = False
    for position, record in enumerate(history):
        if isinstance(record, Called):
            sending = record.method == "send"
        elif isinstance(record, SendReturned):
            first.returned(record, position)
            sending = False
        elif isinstance(record, Killed):
            if sending:
                return
            first.killed = position
        elif isinstance(record, Pushed) and record.tag == Tag.SYNC:
            yield from first.push(record, position)
        elif isinstance(record, IssueRaised) and record.case == "sendFailed":
            first.forget(str(record.details["message_id"]))
        if _may_abandon(record) or _is_wipe(record):
            first.waiting.clear()


def failures_are_reported_once(history: History) -> Iterator[Breach]:
    """SND-015: at most one `sendFailed` for each recipient that failed."""
    failed: dict[str, set[str]] = defaultdict(set)
    reported: dict[str, int] = defaultdict(int)
    answers: dict[str, PushAnswered] = {}
    doubtful = uncertain(history)
    for position, record in enumerate(history):
        if isinstance(record, PushAnswered):
            answers[record.message_id] = record
            if record.code and record.code not in TEMPORARY:
                failed[record.message_id].add(record.recipient)
        if not isinstance(record, IssueRaised) or record.case != "sendFailed" or position in doubtful:
            continue
        message_id = str(record.details["message_id"])
        reported[message_id] += 1
        if record.details["reason"] == "expired" or reported[message_id] <= len(failed[message_id]):
            continue
        if failed[message_id]:
            yield Breach("SND-015", f"sendFailed({message_id}) is raised more often than recipients failed", record)
        else:
            clause, why = _no_failure(answers.get(message_id))
            yield Breach(clause, f"sendFailed({message_id}) is raised although {why}", record)


def _no_failure(answer: PushAnswered | None) -> tuple[str, str]:
    """The clause that speaks of the last answer, which was none that ends an entry, and what it was."""
    if answer is None:
        return "SND-015", "the relay has not answered a push of it"
    if answer.code:
        return "SND-009", f"{answer.code} is a temporary refusal"
    if answer.outcome == "unsupported":
        return "SND-020", "the relay does not speak the Transport Version, which fails no entry"
    return "SND-027", "no recipient's relay has refused it for good"


def nothing_expires_early(history: History) -> Iterator[Breach]:
    """SND-016: the 30 days run from `send()`."""
    sent_at = {record.message_id: record.at for record in history if isinstance(record, SendReturned)}
    for record in history:
        if not isinstance(record, IssueRaised) or record.details.get("reason") != "expired":
            continue
        message_id = str(record.details.get("message_id", ""))
        age = record.at - sent_at.get(message_id, record.at - OUTBOX_EXPIRY)
        if age < OUTBOX_EXPIRY:
            yield Breach("SND-016", f"{message_id} is reported as expired {by_words(age)} after its send()", record)


def pushes_are_named_by_send(history: History) -> Iterator[Breach]:
    """SND-028: a recipient computes the Message ID that `send()` returned. Calls that never returned prove nothing."""
    calls = sum(isinstance(record, Called) and record.method == "send" for record in history)
    ends = sum(
        isinstance(record, SendReturned) or (isinstance(record, CallFailed) and record.method == "send")
        for record in history
    )
    if calls != ends:
        return
    names = {record.message_id for record in history if isinstance(record, SendReturned)}
    label_of = {record.body: record.label for record in history if isinstance(record, SendReturned)}
    for record in history:
        if isinstance(record, Pushed) and record.tag == Tag.SYNC and not record.problem:
            label = label_of.get(record.body)
            if label is not None and record.message_id not in names:
                yield Breach(
                    "SND-028",
                    f"the body of {label} goes out under the Message ID {record.message_id}, which no send() returned",
                    record,
                )


def relay_learns_nothing_more(history: History) -> Iterator[Breach]:
    """MTA-001, MTA-002: a DeliverAck is the blob id; two sends share nothing that the relay can read."""
    seen: dict[str, str] = {}
    for record in history:
        if isinstance(record, DeliverAcked) and record.extra:
            fields = ", ".join(record.extra)
            yield Breach("MTA-001", f"a DeliverAck tells the relay more than the blob id: {fields}", record)
        if isinstance(record, Pushed):
            shown = {"ephemeral_pub": record.ephemeral_pub, **record.extra}
            for name, value in shown.items():
                owner = seen.setdefault(f"{name} = {value}", record.message_id)
                if owner != record.message_id:
                    yield Breach("MTA-002", f"two sends share {name}, which the relay can read", record)


# -- receiving --------------------------------------------------------------------------------------------------------


def handlers_run_one_at_a_time(history: History) -> Iterator[Breach]:
    """RCV-004, RCV-008: one handler at a time, its retries included, five attempts at most."""
    running = ""
    retrying = ""
    attempts: dict[str, int] = defaultdict(int)
    for record in history:
        if isinstance(record, Killed | Started):
            running = retrying = ""
            attempts.clear()
        elif isinstance(record, HandlerCalled):
            attempts[record.message_id] += 1
            if running:
                yield Breach("RCV-004", f"a handler starts while the one for {running} still runs", record)
            elif retrying and retrying != record.message_id:
                yield Breach("RCV-004", f"a handler starts before the retries of {retrying} are over", record)
            if attempts[record.message_id] > ATTEMPTS:
                yield Breach("RCV-008", f"the handler is called a sixth time for {record.message_id}", record)
            running, retrying = record.message_id, ""
        elif isinstance(record, HandlerEnded):
            running = ""
            more = record.threw and attempts[record.message_id] < ATTEMPTS
            retrying = record.message_id if more else ""
        else:
            over = _is_over_for(record)
            attempts.pop(over, None)
            retrying = "" if retrying == over else retrying


def _is_over_for(record: Record) -> str:
    """The message that is done with, if this says so: one that was given up may be handled again (RCV-008)."""
    if isinstance(record, DeliverAcked):
        return record.message_id
    if isinstance(record, IssueRaised) and record.case == "handlerGaveUp":
        return str(record.details["message_id"])
    return ""


def handler_gets_what_was_sent(history: History) -> Iterator[Breach]:
    """RCV-006: sender and bytes of a message as they were sent; of one that its author signed twice, as either."""
    delivered: dict[str, list[Delivered]] = defaultdict(list)
    for record in history:
        if isinstance(record, Delivered) and record.usable and record.tag == Tag.SYNC:
            delivered[record.message_id].append(record)
        if not isinstance(record, HandlerCalled):
            continue
        sent = delivered[record.message_id]
        if not sent:
            yield Breach("RCV-006", f"the handler gets {record.message_id}, which was never sent to it", record)
        elif all(each.body != record.body for each in sent):
            yield Breach("RCV-006", f"the handler gets other bytes than {sent[0].sender} sent", record)
        elif sent[0].sender != record.sender_name:
            yield Breach("RCV-006", f"the handler is told that {record.sender_name} sent it", record)


def acks_follow_handling(history: History) -> Iterator[Breach]:
    """RCV-007: a Sync message that can be handled is acked after its handler ended.

    What was not handled when the device went on its way out may be acked or not (CTL-014).
    """
    usable: dict[str, Delivered] = {}
    ended: set[str] = set()
    throws: dict[str, int] = defaultdict(int)
    excused = _drops_by_step(history)
    gave_up = {_is_over_for(record) for record in history if isinstance(record, IssueRaised)}
    for record in history:
        if isinstance(record, Delivered) and record.tag == Tag.SYNC:
            usable.pop(record.label, None)
            if record.usable:
                usable[record.label] = record
        elif isinstance(record, HandlerEnded):
            throws[record.message_id] += record.threw
            if not record.threw or throws[record.message_id] >= ATTEMPTS or record.message_id in gave_up:
                ended.add(record.message_id)
        elif _may_abandon(record):
            usable.clear()
        elif isinstance(record, DeliverAcked) and record.label in usable and record.message_id not in ended:
            excused[record.step] -= 1
            if excused[record.step] < 0:
                yield Breach("RCV-007", f"{record.label} is acked before its handler ended", record)


def _drops_by_step(history: History) -> Counter[int]:
    """How many blobs that looked usable may have been dropped in each step: one for each issue that says so.

    A blob that was expected to be dropped takes up an issue itself.
    """
    found = Counter(record.step for record in history if isinstance(record, IssueRaised) and record.case in DROPS)
    useless = {
        record.label
        for record in history
        if isinstance(record, Delivered) and record.tag == Tag.SYNC and not record.usable
    }
    found.subtract(record.step for record in history if isinstance(record, DeliverAcked) and record.label in useless)
    return Counter({step: max(count, 0) for step, count in found.items()})


def handled_is_never_handled_again(history: History) -> Iterator[Breach]:
    """RPW-006 and, by what came in between, its parts: once a handler returned, it never runs again for the message.

    A DeliverAck that was seen says that the record was durable before it, whatever the crash took (CRS-005). What
    comes of a call that was running when its handler was cancelled is open (RCV-016), and a wipe forgets (CTL-005).
    """
    handled: dict[str, int] = {}
    returned: set[str] = set()
    cancelled: set[int] = set()
    running = 0
    doubtful = uncertain(history)
    dropped = {record.step for record in history if isinstance(record, IssueRaised) and record.case in DROPS}
    for position, record in enumerate(history):
        if isinstance(record, Called) and record.method == "cancel":
            cancelled.add(running)
        elif isinstance(record, HandlerCalled):
            running = record.call
            if record.message_id in handled:
                clause = _forgotten_by(history[handled[record.message_id] : position], record)
                yield Breach(clause, f"the handler runs again for {record.message_id}, which was handled", record)
        elif isinstance(record, HandlerEnded):
            if not record.threw and record.call not in cancelled:
                returned.add(record.message_id)
                handled.update({} if position in doubtful else {record.message_id: position})
        elif isinstance(record, DeliverAcked):
            if record.message_id in returned and record.step not in dropped:
                handled.setdefault(record.message_id, position)
        elif _is_wipe(record):
            handled.clear()
            returned.clear()


def _forgotten_by(since: History, again: HandlerCalled) -> str:
    """The clause that says that what happened since the message was handled takes no record away."""
    killed = any(isinstance(record, Killed) for record in since)
    restarted = any(isinstance(record, Started) for record in since)
    aged = again.at - since[0].at >= DAY
    if aged and (killed or restarted):
        return "RPW-006"
    if aged:
        return "DDP-002"
    if restarted:
        return "CRS-005" if killed else "DDP-001"
    labels = {
        record.label
        for record in since
        if isinstance(record, Delivered | DeliverAcked) and record.message_id == again.message_id
    }
    return "DDP-005" if len(labels) > 1 else "RCV-014"


def _is_wipe(record: Record) -> bool:
    return isinstance(record, EventRaised) and record.details.get("status") == "notJoined"


@dataclass(slots=True)
class _HandledInOrder:
    """What one sender's messages came to: those handled, and the highest Sequence among them."""

    messages: dict[str, tuple[int, Delivered]] = field(default_factory=dict)
    highest: int = -1


def sender_order_is_kept(history: History) -> Iterator[Breach]:
    """RCV-005: messages of one sender are first handled in the order sent, as far as they arrived in it."""
    arrived: dict[str, tuple[int, Delivered]] = {}
    handled: dict[str, _HandledInOrder] = defaultdict(_HandledInOrder)
    for position, record in enumerate(history):
        if isinstance(record, Delivered) and record.usable and record.tag == Tag.SYNC:
            arrived.setdefault(record.message_id, (position, record))
        if not isinstance(record, HandlerCalled) or record.message_id not in arrived:
            continue
        place, blob = arrived[record.message_id]
        before = handled[blob.sender]
        if record.message_id in before.messages:
            continue
        if blob.sequence < before.highest:
            for other_place, other in before.messages.values():
                if other.sequence > blob.sequence and other_place > place:
                    yield Breach("RCV-005", f"{blob.label} is handled after {other.label}, sent later", record)
        before.messages[record.message_id] = (place, blob)
        before.highest = max(before.highest, blob.sequence)


def nothing_is_pulled_without_handler(history: History) -> Iterator[Breach]:
    """RCV-001: no handler call and no DeliverAck before a handler is registered."""
    registered = False
    for record in history:
        if isinstance(record, Started | Killed):
            registered = False
        elif isinstance(record, Called) and record.method == "on_message":
            registered = True
        elif isinstance(record, HandlerCalled | DeliverAcked) and not registered:
            yield Breach("RCV-001", "a blob is taken from the inbox before a handler is registered", record)


HELD = 100
"""So many Blobs of a newer version are always held: VER-003."""


def held_blobs_give_way_when_full(history: History) -> Iterator[Breach]:
    """VER-003: a newer Blob is acked only while more than 100 are held, and the oldest goes first."""
    held: dict[str, None] = {}
    for record in history:
        if isinstance(record, Delivered):
            if record.newer:
                held.setdefault(record.label)
            else:
                held.pop(record.label, None)
        elif isinstance(record, DeliverAcked) and record.label in held:
            oldest = next(iter(held))
            if len(held) <= HELD:
                yield Breach("VER-003", f"{record.label} gives way although only {len(held)} Blobs are held", record)
            elif record.label != oldest:
                yield Breach("VER-003", f"{record.label} gives way before {oldest}, which is older", record)
            if not record.lost:
                del held[record.label]


def held_blobs_give_way_with_an_issue(history: History) -> Iterator[Breach]:
    """VER-003: one `droppedWhileHeld` for each held Blob that gave way. A crash or a lost ack may repeat either."""
    newer = {record.label for record in history if isinstance(record, Delivered) and record.newer}
    acks = [record for record in history if isinstance(record, DeliverAcked) and record.label in newer]
    issues = [
        record
        for record in history
        if isinstance(record, IssueRaised) and record.details.get("reason") == "droppedWhileHeld"
    ]
    if not issues or any(isinstance(each, Killed) or (isinstance(each, Started) and each.again) for each in history):
        return
    if len(issues) != len(acks) and not any(ack.lost for ack in acks):
        yield Breach("VER-003", f"{len(acks)} held Blobs gave way, and {len(issues)} are reported", issues[-1])


# -- membership -------------------------------------------------------------------------------------------------------


def founding_is_told(history: History) -> Iterator[Breach]:
    """CTL-006: a device that founded a group says that it is a member, with the reason `created`, once for each group.

    Whether when pairing starts or at the first accept is open, and a killed device may have died before it said so.
    """
    if any(isinstance(record, Killed) for record in history):
        return
    known = {_group_id(each.body, 1) for each in history if isinstance(each, Delivered)} | {PROVISIONED_GROUP}
    founded = {
        _group_id(record.body, record.version): record
        for record in history
        if isinstance(record, Pushed) and record.tag == Tag.GROUP_MANIFEST
    }
    groups = [record for group_id, record in founded.items() if group_id and group_id not in known]
    told = sum(isinstance(record, EventRaised) and record.details.get("reason") == "created" for record in history)
    if told < len(groups):
        yield Breach("CTL-006", "the device founded a group, and no event says that it is a member now", groups[-1])


def _group_id(body: bytes, version: int) -> str:
    try:
        return CODEC.decode_manifest(body, version).group_id
    except MalformedError:
        return ""


PROMISES = (
    sequences_are_used_once,
    pushes_are_named_by_send,
    pushes_carry_their_send,
    nothing_expires_early,
    outbox_keeps_its_order,
    sends_are_pushed_in_order,
    failures_are_reported_once,
    relay_learns_nothing_more,
    handlers_run_one_at_a_time,
    handler_gets_what_was_sent,
    acks_follow_handling,
    handled_is_never_handled_again,
    sender_order_is_kept,
    nothing_is_pulled_without_handler,
    held_blobs_give_way_when_full,
    held_blobs_give_way_with_an_issue,
    founding_is_told,
)
