"""What holds of every run of a device as recipient: properties of the whole history.

A call or an answer that a crash cut off is indefinite: it may have taken effect or not. `Killed.settled` says how much
of the history was certain when the device died; the promises give a device the benefit of the doubt for the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.delivery.device_records import (
    Called,
    DeliverAcked,
    Delivered,
    HandlerCalled,
    HandlerEnded,
    IssueRaised,
    Started,
    is_wipe,
    may_abandon,
)
from conformance.delivery.life import Killed, uncertain
from conformance.engine.record import Breach, History, Record
from reference_impl.wire.content import Tag

ATTEMPTS = 5
DROPS = frozenset(("unreadable", "unauthorized"))
"""Issues that say that a Blob was dropped."""
DAY = 86_400_000


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
        elif may_abandon(record):
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
        elif is_wipe(record):
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
