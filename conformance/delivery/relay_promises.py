"""What holds of every run of a relay, whatever the vector is about: properties of the whole history.

A push that a crash cut off is indefinite: it may have been stored or not. `Killed.settled` says how much of the
history was certain when the relay died; the promises give a relay the benefit of the doubt for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.delivery.life import Killed, uncertain
from conformance.delivery.relay_records import (
    BlobDelivered,
    DeliverAcked,
    PushAnswered,
    Pushed,
    ReceiveSessionLeft,
    ReceiveSessionOpened,
    SessionEnded,
    Started,
    Stopped,
    StoreSwitched,
    byte_words,
)
from conformance.delivery.relay_waiting import what_waits_is_delivered
from conformance.engine.record import Breach, History

# -- pushes -----------------------------------------------------------------------------------------------------------


def pushes_are_answered_in_order(history: History) -> Iterator[Breach]:
    """RLY-013: on each Push Session, in the order of the pushes."""
    waiting: defaultdict[str, list[Pushed]] = defaultdict(list)
    for record in history:
        if isinstance(record, Killed | Stopped):
            waiting.clear()
        elif isinstance(record, Pushed):
            waiting[record.session].append(record)
        elif isinstance(record, PushAnswered):
            before = waiting[record.session]
            if before and before[0].push != record.push:
                yield Breach(
                    "RLY-013",
                    f"{record.label} is answered before {before[0].label}, which was pushed first on the same session",
                    record,
                )
            waiting[record.session] = [each for each in before if each.push != record.push]


def refusals_say_a_code_only(history: History) -> Iterator[Breach]:
    """RLY-012: a refusal is its code."""
    for record in history:
        if isinstance(record, PushAnswered) and record.code and record.extra:
            fields = ", ".join(record.extra)
            yield Breach("RLY-012", f"the refusal of {record.label} carries more than its code: {fields}", record)


def refusals_keep_the_session(history: History) -> Iterator[Breach]:
    """RLY-012: a Push Session does not end with a refusal.

    A relay that ends sessions after an ack as well has another reason, which is its own affair.
    """
    latest: dict[str, PushAnswered] = {}
    ended: list[tuple[PushAnswered, SessionEnded]] = []
    acked = False
    for record in history:
        if isinstance(record, PushAnswered):
            latest[record.session] = record
            acked = acked or not record.code
        elif isinstance(record, Pushed):
            latest.pop(record.session, None)
        elif isinstance(record, SessionEnded) and record.session in latest:
            answer = latest[record.session]
            ended += [(answer, record)] if answer.at == record.at else []
    if acked and all(answer.code for answer, _ in ended):
        for answer, end in ended:
            yield Breach("RLY-012", f"the relay refuses {answer.label} and ends {answer.session} with it", end)


# -- deliveries -------------------------------------------------------------------------------------------------------

WRONG_SESSION = {
    "unknown": ("RLY-007", "the relay delivers {what} on a session that no device ever opened"),
    "left": ("RLY-005", "the relay delivers {what} on {session}, which is over"),
    "ended": ("RLY-005", "the relay delivers {what} on {session}, which it had ended itself"),
    "gone": ("RLY-005", "the relay delivers {what} on {session}, which went when the relay stopped"),
}


def deliveries_go_to_open_sessions(history: History) -> Iterator[Breach]:
    """RLY-005, RLY-007: on a Receive Session that is open, and nowhere else."""
    for record in history:
        if isinstance(record, BlobDelivered) and record.problem:
            clause, words = WRONG_SESSION[record.problem]
            yield Breach(clause, words.format(what=record.label or "a blob", session=record.session), record)


def envelopes_stay_as_they_were(history: History) -> Iterator[Breach]:
    """RLY-016: byte for byte."""
    for record in history:
        if isinstance(record, BlobDelivered) and not record.label:
            yield Breach(
                "RLY-016",
                f"the relay delivers an envelope of {byte_words(record.size)} to {record.target} that nobody pushed: "
                f"{record.mismatch}",
                record,
            )


def inboxes_are_private(history: History) -> Iterator[Breach]:
    """RLY-007: a blob goes to the device it was pushed to."""
    for record in history:
        if isinstance(record, BlobDelivered) and record.device and record.owner not in ("", record.device):
            yield Breach(
                "RLY-007", f"{record.label} was pushed to {record.owner} and is delivered to {record.device}", record
            )


def blobs_come_once_a_session(history: History) -> Iterator[Breach]:
    """RLY-004: at most once on one Receive Session."""
    seen: set[tuple[str, str]] = set()
    for record in history:
        if isinstance(record, BlobDelivered) and record.label:
            if (record.session, record.label) in seen:
                yield Breach("RLY-004", f"{record.label} is delivered twice on {record.session}", record)
            seen.add((record.session, record.label))


@dataclass(slots=True)
class _Arrivals:
    """When each push was sent and when it was over, as positions in the history.

    One push arrived before another if it came first on the same Push Session, or was over before the other was sent.
    Of two that were under way at once on two Push Sessions the relay chooses the order.
    """

    sent: dict[str, int] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)
    session: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History) -> _Arrivals:
        found = cls()
        for position, record in enumerate(history):
            if isinstance(record, Pushed):
                found.sent[record.label] = position
                found.session[record.label] = record.session
            elif isinstance(record, PushAnswered):
                found.over[record.label] = position
            elif isinstance(record, Killed | Stopped):
                for label in found.sent:
                    found.over.setdefault(label, position)
        return found


@dataclass(slots=True)
class _Line:
    """What one Receive Session was sent: the blobs, and the latest push among them, on each Push Session.

    `opened` and `over` are positions in the history; `over` is None while the session is open.
    """

    device: str
    opened: int
    blobs: set[str] = field(default_factory=set)
    latest: dict[str, str] = field(default_factory=dict)
    over: int | None = None

    def overtaken_by(self, label: str, arrivals: _Arrivals) -> str:
        """A blob that was delivered already and arrived after this one; empty if there is none."""
        for session, later in self.latest.items():
            before = arrivals.sent if arrivals.session[label] == session else arrivals.over
            if label in before and before[label] < arrivals.sent[later]:
                return later
        return ""

    def add(self, label: str, arrivals: _Arrivals) -> None:
        session = arrivals.session[label]
        latest = self.latest.setdefault(session, label)
        if arrivals.sent[latest] < arrivals.sent[label]:
            self.latest[session] = label
        self.blobs.add(label)


def arrival_order_is_kept(history: History) -> Iterator[Breach]:
    """RLY-003: on each Receive Session in the order of arrival.

    A blob that another session of the device was sent, and that comes over to one that was open already when that
    session ended, may be late.
    """
    arrivals = _Arrivals.of(history)
    lines: dict[str, _Line] = {}
    for position, record in enumerate(history):
        if isinstance(record, ReceiveSessionOpened):
            lines[record.session] = _Line(record.device, position)
        elif isinstance(record, ReceiveSessionLeft | SessionEnded) and record.session in lines:
            lines[record.session].over = position
        elif isinstance(record, BlobDelivered) and record.label in arrivals.sent and record.session in lines:
            line = lines[record.session]
            later = line.overtaken_by(record.label, arrivals)
            if later and not _handed_over(record, lines):
                yield Breach(
                    "RLY-003",
                    f"{record.label} is delivered on {record.session} after {later}, which arrived later",
                    record,
                )
            line.add(record.label, arrivals)


def _handed_over(delivered: BlobDelivered, lines: dict[str, _Line]) -> bool:
    opened = lines[delivered.session].opened
    return any(
        line.over is not None
        and line.over > opened
        and line.device == delivered.device
        and delivered.label in line.blobs
        for line in lines.values()
    )


def refused_is_never_delivered(history: History) -> Iterator[Breach]:
    """RLY-012: a refused push stores nothing. One that was refused while the relay died is indefinite."""
    refused: dict[str, str] = {}
    delivered: set[str] = set()
    doubtful = uncertain(history)
    for position, record in enumerate(history):
        if isinstance(record, PushAnswered) and record.code and position not in doubtful:
            refused[record.label] = record.code
            if record.label in delivered:
                yield Breach("RLY-012", f"{record.label} is refused as {record.code} and was delivered", record)
        elif isinstance(record, BlobDelivered):
            delivered.add(record.label)
            if record.label in refused:
                code = refused[record.label]
                yield Breach("RLY-012", f"{record.label} was refused as {code} and is delivered all the same", record)


def acked_is_never_delivered(history: History) -> Iterator[Breach]:
    """RLY-006, RLY-021: what was acked is deleted, also after a restart.

    An ack that a crash may have undone, or that came while the store failed, is in doubt.
    """
    acked: dict[str, DeliverAcked] = {}
    restarted: set[str] = set()
    doubtful = uncertain(history)
    failing = False
    for position, record in enumerate(history):
        if isinstance(record, StoreSwitched):
            failing = record.failing
        elif isinstance(record, Started):
            failing = False
            restarted = set(acked)
        elif isinstance(record, DeliverAcked) and record.valid and not record.lost:
            if not failing and position not in doubtful:
                acked[record.label] = record
        elif isinstance(record, BlobDelivered) and record.label in acked:
            ack = acked[record.label]
            since = ", before the relay started anew" if record.label in restarted else ""
            yield Breach(
                "RLY-006",
                f"{record.label} is delivered on {record.session} although {ack.device} acked it on "
                f"{ack.session}{since}",
                record,
            )


def blob_ids_name_one_blob(history: History) -> Iterator[Breach]:
    """RLY-006: within one inbox an id is never given to a second blob, or a late ack deletes the wrong one.

    Two inboxes may count alike, and a blob may have another id on another session.
    """
    named: dict[tuple[str, str], str] = {}
    doubtful = uncertain(history)
    for position, record in enumerate(history):
        if not isinstance(record, BlobDelivered) or not record.label or position in doubtful:
            continue
        first = named.setdefault((record.device, record.blob_id), record.label)
        if first != record.label:
            yield Breach(
                "RLY-006",
                f"blob id {record.blob_id} named {first} before and names {record.label} now: "
                f"a late DeliverAck of {first} would delete {record.label}",
                record,
            )


PROMISES = (
    deliveries_go_to_open_sessions,
    envelopes_stay_as_they_were,
    inboxes_are_private,
    refusals_say_a_code_only,
    pushes_are_answered_in_order,
    refused_is_never_delivered,
    acked_is_never_delivered,
    blobs_come_once_a_session,
    arrival_order_is_kept,
    what_waits_is_delivered,
    refusals_keep_the_session,
    blob_ids_name_one_blob,
)
