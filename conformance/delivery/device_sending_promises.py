"""What holds of every run of a device as sender: properties of the whole history.

A call or an answer that a crash cut off is indefinite: it may have taken effect or not. `Killed.settled` says how much
of the history was certain when the device died; the promises give a device the benefit of the doubt for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.delivery.device_records import (
    Called,
    CallFailed,
    DeliverAcked,
    EventRaised,
    IssueRaised,
    Network,
    PushAnswered,
    Pushed,
    SendReturned,
    Started,
    is_wipe,
    may_abandon,
)
from conformance.delivery.life import EPOCH, Killed, uncertain
from conformance.durations import by_words
from conformance.engine.record import Breach, History
from reference_impl.wire.content import Tag

TEMPORARY = frozenset(("inbox_full", "rate_limited", "unavailable", "internal_error"))
FIRST_RETRY = 1000
"""In ms: SND-011."""
DAY = 86_400_000
OUTBOX_EXPIRY = 30 * DAY
"""In ms: SND-016."""


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
        elif may_abandon(record):
            outbox.abandon()


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
        if may_abandon(record) or is_wipe(record):
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
