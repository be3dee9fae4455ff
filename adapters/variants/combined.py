"""Devices that take several freedoms at once: what each leaves open alone must be open together."""

from __future__ import annotations

from typing import ClassVar

from adapters.deviation import Variant, peek, with_notices, with_outbox
from adapters.variants.control import Journals, JournalsJoin, LastStatusOnly, MembersSorted, OthersInReverse
from adapters.variants.dedup import DeletesLater, JournalledDedup, SequenceFirst
from adapters.variants.receiving import (
    AckBeforeIssue,
    AcksInBatches,
    AcksOnAnySession,
    BatchingDevice,
    EarlySession,
    SendersTakeTurns,
)
from adapters.variants.sending import (
    OnePushAtATime,
    PushesBehindSession,
    ReconnectKeepsPauses,
    ReportsOncePerMessage,
    SealsOnce,
    WaitsForSession,
)
from reference_impl.device.backoff import Backoff
from reference_impl.device.checks import Blob
from reference_impl.device.context import Context
from reference_impl.device.device import Device
from reference_impl.device.effects import (
    ConnectionChanged,
    Effect,
    Event,
    MembersChanged,
)
from reference_impl.device.notices import Notices
from reference_impl.device.outbox import Outbox
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.wire.content import Tag

# -- pauses


class EqualJitter(Backoff):
    """Half of each pause is fixed and half is luck, and none is under the first."""

    def delay(self, failures: int) -> int:
        full = super().delay(failures)
        return max(self._first, full // 2 + full * (failures * 61 % 100) // 200)


class JittersWidely(Outbox):
    backoff_class = EqualJitter


# -- notices


class SaysLittle(LastStatusOnly):
    """No events about the connection and the members: both can be asked for at any time."""

    def event(self, event: Event) -> None:
        if not isinstance(event, ConnectionChanged | MembersChanged):
            super().event(event)


class TellsTwice(Notices):
    """What can be told again without harm is told again."""

    def event(self, event: Event) -> None:
        super().event(event)
        if isinstance(event, ConnectionChanged | MembersChanged):
            super().event(event)


class TellsLate(TellsTwice):
    """Keeps its events until nothing else is to do."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._late: list[Event] = []

    def event(self, event: Event) -> None:
        self._late.append(event)

    def tell(self) -> None:
        late, self._late = self._late, []
        for event in late:
            super().event(event)


class LateTeller(Device):
    notices_class = TellsLate

    def next_timer(self) -> int | None:
        if isinstance(self.notices, TellsLate):
            self.notices.tell()
        return super().next_timer()


# -- nothing happens in the call that causes it


class SpeaksWhenIdle(Device):
    """Hands everything to a loop that comes round when it is quiet; a crash takes what it had not come to."""

    _is_idle = False

    def take_effects(self) -> list[Effect]:
        if not self._is_idle:
            return []
        self._is_idle = False
        return super().take_effects()

    def next_timer(self) -> int | None:
        self._is_idle = True
        return super().next_timer()


# -- sending


class ThriftyOutbox(OnePushAtATime, SealsOnce, ReportsOncePerMessage):
    backoff_class = EqualJitter


class LastLaneFirst(OnePushAtATime, ReconnectKeepsPauses):
    """One push in flight in all, and the recipient that came last is served first."""

    backoff_class = EqualJitter

    def pump(self) -> None:
        for lane in list(self._lanes.values())[::-1]:
            self.pump_lane(lane)


class FarAlready(SessionState):
    """Begins to count far up, beyond what 32 bits hold."""

    START: ClassVar[int] = 2**40

    def take_sequence(self) -> int:
        self._sequence = max(self._sequence, self.START)
        return super().take_sequence()


# -- receiving


class PullsToPair(ReceiveSession):
    """Also opens while somebody may pair, before there is a handler."""

    is_pairing = False

    def may_open(self) -> bool:
        return super().may_open() or (self.is_pairing and self._connection.usable)


class TakesControl(Recipient):
    """Without a handler it takes what is for the library, and leaves the messages of the app where they are."""

    def proceed(self) -> None:
        super().proceed()
        while not self.has_handler and self._handling is None:
            blob = next((each for each in self._waiting if self._is_control(each)), None)
            if blob is None:
                return
            self._waiting.remove(blob)
            self.process(blob)

    def _is_control(self, blob: Blob) -> bool:
        content = peek(self, blob.envelope)
        return content is not None and content.tag in (Tag.PAIR, Tag.GROUP_MANIFEST)


class PairsWithoutHandler(Device):
    receive_session_class = PullsToPair
    recipient_class = TakesControl

    def start_pairing(self) -> str:
        token = super().start_pairing()
        self._pull()
        return token

    def join(self, pairing_token: str) -> None:
        super().join(pairing_token)
        self._pull()

    def _pull(self) -> None:
        if isinstance(self.session, PullsToPair):
            self.session.is_pairing = True
            self.session.open()


# -- all together


class ThriftyRecipient(AcksInBatches, AckBeforeIssue):
    pass


class Thrifty(BatchingDevice):
    """As little traffic, as few writes and as few words as the protocol allows."""

    notices_class = SaysLittle
    receive_session_class = EarlySession
    outbox_class = ThriftyOutbox
    recipient_class = ThriftyRecipient
    session_state_class = FarAlready


class SendersTakeTurnsAnySession(SendersTakeTurns, AcksOnAnySession):
    pass


class Contrary(LateTeller):
    """Another order wherever an order is free."""

    outbox_class = LastLaneFirst
    recipient_class = SendersTakeTurnsAnySession


class ReversedMembership(OthersInReverse, MembersSorted, Journals):
    pass


class ContraryMembership(Contrary):
    membership_class = ReversedMembership


class WaitsAndLines(WaitsForSession, OnePushAtATime):
    """Behind the Receive Session, and one after the other."""


class OneThing(PushesBehindSession):
    outbox_class = WaitsAndLines


class JournalDevice(SequenceFirst):
    """Every change in two durable writes."""

    outbox_class = DeletesLater
    recipient_class = JournalledDedup
    membership_class = Journals
    pairing_class = JournalsJoin


class IdleJournal(SpeaksWhenIdle, JournalDevice):
    pass


class IdleThrifty(SpeaksWhenIdle, Thrifty):
    pass


VARIANTS: tuple[Variant, ...] = (
    Variant("equal-jitter", "lets luck decide half of each pause", with_outbox(JittersWidely)),
    Variant("says-little", "raises no event about connection, members and passing states", with_notices(SaysLittle)),
    Variant("tells-late", "raises events once all else is done, and those that may be twice", LateTeller),
    Variant("pairs-without-handler", "pulls what pairing needs before there is a handler", PairsWithoutHandler),
    Variant("speaks-when-idle", "does everything once the calls that caused it have returned", SpeaksWhenIdle),
    Variant("thrifty", "one push at a time, sealed once, acks in batches before issues, few events", Thrifty),
    Variant("contrary", "serves the last recipient first, senders in turn, and tells late", Contrary),
    Variant("contrary-membership", "the same for members and recipients, with a journal", ContraryMembership),
    Variant("one-thing", "pushes one entry at a time and only while its Receive Session is open", OneThing),
    Variant("journals-everything", "needs two durable writes for every change", JournalDevice),
    Variant("idle-journal", "the same, and speaks only when idle", IdleJournal),
    Variant("idle-thrifty", "thrifty, and speaks only when idle", IdleThrifty),
)
