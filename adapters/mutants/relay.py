# ruff: noqa: ARG002 - a relay that deviates need not use all it is given
"""Relays that keep, order, deliver and delete wrongly (RLY-001, 003 to 008, 016, 020 to 022, 029, 030)."""

from __future__ import annotations

from adapters.deviation import Mutant
from adapters.relay_parts import with_inboxes, with_sessions
from reference_impl.relay.effects import Deliver, Effect
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.sessions import ReceiveSession, Sessions
from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import Blob, MemoryStore, Store

MINUTE = 60_000

# -- what is durable, and when


class AcksBeforeStoring(Relay):
    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.answer(session, push, None)
        self.deliver_new(self.store_push(frame, now))


class WritesBehind(Relay):
    """A push is written together with the next one: half the fsyncs."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.unwritten: list[Blob] = []
        super().__init__(store, settings, now)

    def store_push(self, frame: PushFrame, now: int) -> Blob:
        for blob in self.unwritten:
            self.inboxes.put(blob.recipient, blob.envelope, blob.arrived_at)
        blob = Blob(2**60 + len(self.unwritten), 0, frame.recipient, frame.envelope, now)
        self.unwritten = [blob]
        return blob


class KeepsInboxesInMemory(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        super().__init__(MemoryStore(store.counter), settings, now)


class RewritesInboxOnAck(Relay):
    """The inbox is one record: an ack empties it and writes what is left, as two transactions."""

    def delete_acked(self, blob: Blob) -> None:
        waiting = self.store.inbox(blob.recipient)
        self.inboxes.delete(waiting)
        with self.store.transaction():
            for each in waiting:
                if each != blob:
                    self.store.add(each)
        self.sessions.forget(blob)


class ReapsInTwoSteps(Relay):
    """What has not expired is put aside and written back after the old ones are gone."""

    def reap(self, now: int) -> None:
        if self.inboxes.expired(now):
            waiting = list(self.store.all_blobs())
            self.inboxes.delete(waiting)
            with self.store.transaction():
                for each in waiting:
                    if not self.inboxes.is_expired(each, now):
                        self.store.add(each)


class ForgetsAcksOverRestarts(Relay):
    """Acked blobs are hidden in memory and left to the TTL."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.hidden: set[int] = set()
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        self.hidden.add(blob.blob_id)

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.blob_id not in self.hidden:
            super().deliver_once(session, blob)


class CountsIdsFromOneAgain(Relay):
    """The ids that devices see start from 1 at each start."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.ids: list[int] = []
        super().__init__(store, settings, now)

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.blob_id not in self.ids:
            self.ids.append(blob.blob_id)
        self.emit(Deliver(session.name, self.ids.index(blob.blob_id) + 1, blob.envelope))

    def deliver_ack(self, session: str, blob_id: int) -> list[Effect]:
        known = 0 < blob_id <= len(self.ids)
        return super().deliver_ack(session, self.ids[blob_id - 1] if known else 0)


# -- order


class NewestFirst(Inboxes):
    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        return blobs[::-1]


class SmallestFirst(Inboxes):
    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        return sorted(blobs, key=lambda blob: len(blob.envelope))


class OrdersIdsAsText(Inboxes):
    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        return sorted(blobs, key=lambda blob: str(blob.blob_id))


class YoungestDayFirst(Inboxes):
    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        return sorted(blobs, key=lambda blob: -blob.arrived_at)


class RestartBringsNewOnesForward(Inboxes):
    """Old blobs are loaded lazily, behind those that arrived in this run."""

    def __init__(self, store: Store, settings: RelaySettings) -> None:
        super().__init__(store, settings)
        self.loaded = {blob.blob_id for blob in store.all_blobs()}

    def in_order(self, blobs: list[Blob]) -> list[Blob]:
        return sorted(blobs, key=lambda blob: blob.blob_id in self.loaded)


class OvertakesLargeOnes(Relay):
    """Large envelopes go through a slower queue, sent when the next small one has left."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.slow: list[Blob] = []
        super().__init__(store, settings, now)

    def deliver_new(self, blob: Blob) -> None:
        if len(blob.envelope) > 10_000:
            self.slow.append(blob)
            return
        super().deliver_new(blob)
        while self.slow:
            super().deliver_new(self.slow.pop())


# -- Receive Sessions


class SendsAllAgain(Relay):
    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient):
            for each in self.inboxes.waiting(blob.recipient, blob.arrived_at):
                self.deliver(session, each)


class SendsAgainByTimer(Relay):
    """What is not acked within a minute is sent again."""

    next_round: int | None = None

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        super().deliver(session, blob)
        self.next_round = self.next_round or blob.arrived_at + MINUTE

    def next_timer(self) -> int | None:
        return min((each for each in (self.next_round, super().next_timer()) if each is not None), default=None)

    def advance(self, now: int) -> list[Effect]:
        if self.next_round is not None and now >= self.next_round:
            self.next_round = now + MINUTE
            for session in list(self.sessions._receiving.values()):
                for blob in self.inboxes.waiting(session.device, now):
                    self.emit(Deliver(session.name, blob.blob_id, blob.envelope))
        return super().advance(now)


class SendsTheRestAgainOnAck(Relay):
    def delete_acked(self, blob: Blob) -> None:
        super().delete_acked(blob)
        for session in self.sessions.of_device(blob.recipient):
            for each in self.store.inbox(blob.recipient):
                self.deliver(session, each)


class SentOnceForEver(Relay):
    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.sent: set[int] = set()
        super().__init__(store, settings, now)

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.blob_id not in self.sent:
            self.sent.add(blob.blob_id)
            super().deliver_once(session, blob)


class DeletesOnDelivery(Relay):
    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        super().deliver(session, blob)
        self.delete_acked(blob)


class SendsTheOldestAgain(Relay):
    def deliver_waiting(self, session: ReceiveSession, now: int) -> None:
        for blob in self.inboxes.waiting(session.device, now)[:1]:
            self.deliver_once(session, blob)


class NeverNoticesTheEnd(Relay):
    def close_receive_session(self, session: str) -> list[Effect]:
        return []


class EndSendsToEverybody(Relay):
    """When a session ends, all inboxes are gone through once more."""

    def close_receive_session(self, session: str) -> list[Effect]:
        self.sessions.close_receiving(session)
        for each in list(self.sessions._receiving.values()):
            for blob in self.store.inbox(each.device):
                self.deliver(each, blob)
        return self.take_effects()


class DeliversAtTheNextSession(Relay):
    def deliver_new(self, blob: Blob) -> None:
        return


class SleepsAfterMinutes(Relay):
    """A session on which nothing was sent for five minutes is not woken by what arrives."""

    now = 0

    def advance(self, now: int) -> list[Effect]:
        self.now = now
        return super().advance(now)

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.now = now
        return super().open_receive_session(session, device, now)

    def deliver_new(self, blob: Blob) -> None:
        if not self.now or blob.arrived_at - self.start < 5 * MINUTE:
            super().deliver_new(blob)

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.start = now
        super().__init__(store, settings, now)


class WindowOfFifty(Relay):
    """A session with 50 un-acked blobs gets no more."""

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if len(session.sent) < 50:
            super().deliver_once(session, blob)


class NeedsAFirstVisit(Relay):
    """A push for a device that it never saw is acked and thrown away."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.seen = {blob.recipient for blob in store.all_blobs()}
        super().__init__(store, settings, now)

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.seen.add(device)
        return super().open_receive_session(session, device, now)

    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        if frame.recipient in self.seen:
            super().accept(session, push, frame, now)
        else:
            self.answer(session, push, None)


# -- acks


class IgnoresAcks(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        return


class AcksAreCumulative(Relay):
    def delete_acked(self, blob: Blob) -> None:
        for each in self.store.inbox(blob.recipient):
            if each.arrival <= blob.arrival:
                super().delete_acked(each)


class AckDeletesTheOldest(Relay):
    def delete_acked(self, blob: Blob) -> None:
        super().delete_acked(self.store.inbox(blob.recipient)[0])


class AckEmptiesTheInbox(Relay):
    def delete_acked(self, blob: Blob) -> None:
        for each in self.store.inbox(blob.recipient):
            super().delete_acked(each)


class AcksExpire(Relay):
    """An ack counts within an hour of the arrival."""

    now = 0

    def advance(self, now: int) -> list[Effect]:
        self.now = now
        return super().advance(now)

    def delete_acked(self, blob: Blob) -> None:
        if self.now - blob.arrived_at < 60 * MINUTE:
            super().delete_acked(blob)


class OneAckABlob(Relay):
    """The first ack counts, be it that the store could not delete."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.acked: set[int] = set()
        super().__init__(store, settings, now)

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        if blob_id not in self.acked:
            self.acked.add(blob_id)
            super().apply_ack(session, blob_id)


class NeedlessAckDeletesTheOldest(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        blob = self.inboxes.find(blob_id)
        waiting = self.store.inbox(session.device)
        if blob is None and waiting:
            blob = waiting[0]
        if blob is not None and self.may_delete(session, blob):
            self.delete_acked(blob)


class NeedlessAckEndsTheSession(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        if self.inboxes.find(blob_id) is None:
            self.end_session(session)
        else:
            super().apply_ack(session, blob_id)


class RemembersEarlyAcks(Relay):
    """An ack for an id that is not there is kept for the blob that will have it."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.early: set[int] = set()
        super().__init__(store, settings, now)

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        self.early.add(blob_id)
        super().apply_ack(session, blob_id)

    def deliver_new(self, blob: Blob) -> None:
        super().deliver_new(blob)
        if blob.blob_id in self.early:
            self.delete_acked(blob)


class TakesAcksAfterTheEnd(Relay):
    """The session's name is enough to ack, be it closed or not."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.owners: dict[str, bytes] = {}
        super().__init__(store, settings, now)

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        self.owners[session] = device
        return super().open_receive_session(session, device, now)

    def deliver_ack(self, session: str, blob_id: int) -> list[Effect]:
        if session in self.owners:
            self.apply_ack(ReceiveSession(session, self.owners[session]), blob_id)
        return self.take_effects()


# -- whose inbox


class AnybodyMayAck(Relay):
    def may_delete(self, session: ReceiveSession, blob: Blob) -> bool:
        return True


class ForeignAckEndsTheSession(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        blob = self.inboxes.find(blob_id)
        if blob is not None and blob.recipient != session.device:
            self.end_session(session)
        else:
            super().apply_ack(session, blob_id)


class TellsEverybody(Relay):
    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions._receiving.values():
            self.deliver_once(session, blob)


class WaitsForOtherDevices(Relay):
    """Nothing goes out to a device while another one has not acked what it was sent."""

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        others = (each for each in self.sessions._receiving.values() if each.device != session.device)
        if not any(each.sent for each in others):
            super().deliver_once(session, blob)


class WindowForAllDevices(Relay):
    """64 un-acked blobs in all are under way, and no more."""

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        others = (each for each in self.sessions._receiving.values() if each.device != session.device)
        if sum(len(each.sent) for each in others) < 64:
            super().deliver_once(session, blob)


class SessionsOfAllDevicesAreFew(Relay):
    """Four Receive Sessions at once, over all devices; a fifth is opened and sent nothing."""

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if session in list(self.sessions._receiving.values())[:4]:
            super().deliver_once(session, blob)


# -- two sessions of one device


class SecondGetsWhatOthersHaveNot(Relay):
    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        if not any(blob.blob_id in each.sent for each in self.sessions.of_device(blob.recipient)):
            super().deliver_once(session, blob)


class HandOverCountsAsAck(Relay):
    """A device that connects anew while its session is open has surely had what that session was sent."""

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        for older in self.sessions.of_device(device):
            for blob in self.store.inbox(device):
                if blob.blob_id in older.sent:
                    self.delete_acked(blob)
        return super().open_receive_session(session, device, now)


class EndTakesTheDeviceOff(Sessions):
    """Sessions are found by their device, and the end of one is the end of what is found."""

    def close_receiving(self, name: str) -> None:
        ended = self.receiving(name)
        if ended is not None:
            for each in self.of_device(ended.device):
                super().close_receiving(each.name)


class SecondSessionIsEnded(Relay):
    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        busy = bool(self.sessions.of_device(device))
        opened = self.sessions.open_receiving(session, device)
        if busy:
            self.end_session(opened)
        else:
            self.deliver_waiting(opened, now)
        return self.take_effects()


class AcksCountOnTheNewestSession(Relay):
    """An ack on an older session is applied to the newest blob instead of the one it names."""

    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        if session is not self.sessions.of_device(session.device)[-1]:
            blob_id = max((blob.blob_id for blob in self.store.inbox(session.device)), default=0)
        super().apply_ack(session, blob_id)


class OneReaderAtATime(Relay):
    """While two sessions of a device are open, what arrives goes to neither, and then it is forgotten."""

    def deliver_new(self, blob: Blob) -> None:
        if len(self.sessions.of_device(blob.recipient)) > 1:
            self.delete_acked(blob)
        else:
            super().deliver_new(blob)


# -- bytes


class CutsLineEnds(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope.rstrip(b"\r\n")


class CutsBlanks(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope.strip()


class KeepsText(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope.decode("utf-8", "replace").encode()


class EndsAtZero(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope.split(b"\0")[0]


class DropsByteOrderMark(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope.removeprefix(b"\xef\xbb\xbf")


class LengthInFifteenBits(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope[: 2**15 - 1]


class PadsToBlocks(Inboxes):
    def kept_bytes(self, envelope: bytes) -> bytes:
        return envelope + bytes(-len(envelope) % 16)


class DropsEmptyOnes(Relay):
    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.envelope:
            super().deliver(session, blob)


class StoresEqualBytesOnce(Inboxes):
    def put(self, recipient: bytes, envelope: bytes, now: int) -> Blob:
        for blob in self._store.inbox(recipient):
            if blob.envelope == envelope:
                return blob
        return super().put(recipient, envelope, now)


class StoresEqualBytesOnceForAll(Relay):
    """Content-addressed: equal bytes are one blob, for whomever they came first."""

    def deliver_once(self, session: ReceiveSession, blob: Blob) -> None:
        first = next(each for each in self.store.all_blobs() if each.envelope == blob.envelope)
        if first.recipient == blob.recipient:
            super().deliver_once(session, blob)

    def delete_acked(self, blob: Blob) -> None:
        for each in list(self.store.all_blobs()):
            if each.envelope == blob.envelope:
                super().delete_acked(each)


class KnowsBytesAgain(Relay):
    """What was acked once is not delivered when the same bytes are pushed again."""

    def __init__(self, store: Store, settings: RelaySettings, now: int) -> None:
        self.handled: set[bytes] = set()
        super().__init__(store, settings, now)

    def delete_acked(self, blob: Blob) -> None:
        self.handled.add(blob.envelope)
        super().delete_acked(blob)

    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        if blob.envelope not in self.handled:
            super().deliver(session, blob)


MUTANTS = (
    Mutant("relay-acks-before-storing", "RLY-001", "acks a push and then stores it", AcksBeforeStoring),
    Mutant("relay-writes-behind", "RLY-001", "writes a push when the next one comes", WritesBehind),
    Mutant("relay-keeps-inboxes-in-memory", "RLY-021", "loses every inbox with its process", KeepsInboxesInMemory),
    Mutant("relay-rewrites-inbox-on-ack", "RLY-021", "empties an inbox before it writes the rest", RewritesInboxOnAck),
    Mutant("relay-reaps-in-two-steps", "RLY-021", "puts what has not expired aside while it deletes", ReapsInTwoSteps),
    Mutant("relay-forgets-acks-over-restarts", "RLY-021", "keeps acks in memory only", ForgetsAcksOverRestarts),
    Mutant("relay-counts-ids-from-one-again", "RLY-006", "gives ids anew after a restart", CountsIdsFromOneAgain),
    Mutant("relay-newest-first", "RLY-003", "sends the newest blob first", with_inboxes(NewestFirst)),
    Mutant("relay-smallest-first", "RLY-003", "sends the smallest blob first", with_inboxes(SmallestFirst)),
    Mutant("relay-orders-ids-as-text", "RLY-003", "sends blob 10 before blob 2", with_inboxes(OrdersIdsAsText)),
    Mutant("relay-youngest-day-first", "RLY-003", "sends what arrived last first", with_inboxes(YoungestDayFirst)),
    Mutant(
        "relay-restart-brings-new-ones-forward",
        "RLY-003",
        "sends what arrived after a restart before what was there",
        with_inboxes(RestartBringsNewOnesForward),
    ),
    Mutant("relay-overtakes-large-ones", "RLY-003", "lets small blobs overtake large ones", OvertakesLargeOnes),
    Mutant("relay-sends-all-again", "RLY-004", "sends the whole inbox when a blob arrives", SendsAllAgain),
    Mutant("relay-sends-again-by-timer", "RLY-004", "sends un-acked blobs every minute", SendsAgainByTimer),
    Mutant("relay-sends-the-rest-again-on-ack", "RLY-004", "answers an ack with the rest", SendsTheRestAgainOnAck),
    Mutant("relay-sent-once-for-ever", "RLY-005", "sends each blob once in its life", SentOnceForEver),
    Mutant("relay-deletes-on-delivery", "RLY-005", "deletes what it has sent", DeletesOnDelivery),
    Mutant("relay-sends-the-oldest-again", "RLY-005", "sends a new session one blob", SendsTheOldestAgain),
    Mutant("relay-never-notices-the-end", "RLY-005", "goes on sending on a closed session", NeverNoticesTheEnd),
    Mutant("relay-end-sends-to-everybody", "RLY-005", "sends all again when a session ends", EndSendsToEverybody),
    Mutant("relay-delivers-at-the-next-session", "RLY-030", "keeps what arrives", DeliversAtTheNextSession),
    Mutant("relay-sleeps-after-minutes", "RLY-030", "forgets a session that is silent", SleepsAfterMinutes),
    Mutant("relay-window-of-fifty", "RLY-030", "stops at 50 un-acked blobs", WindowOfFifty),
    Mutant("relay-needs-a-first-visit", "RLY-029", "throws away what is for a new device", NeedsAFirstVisit),
    Mutant("relay-ignores-acks", "RLY-006", "deletes nothing", IgnoresAcks),
    Mutant("relay-acks-are-cumulative", "RLY-006", "deletes what came before the acked blob", AcksAreCumulative),
    Mutant("relay-ack-deletes-the-oldest", "RLY-006", "deletes the oldest blob", AckDeletesTheOldest),
    Mutant("relay-ack-empties-the-inbox", "RLY-006", "deletes all with one ack", AckEmptiesTheInbox),
    Mutant("relay-acks-expire", "RLY-006", "ignores an ack that comes an hour later", AcksExpire),
    Mutant("relay-one-ack-a-blob", "RLY-006", "ignores the second ack after a failed deletion", OneAckABlob),
    Mutant(
        "relay-needless-ack-deletes-the-oldest",
        "RLY-008",
        "takes an ack that names nothing for the oldest blob",
        NeedlessAckDeletesTheOldest,
    ),
    Mutant(
        "relay-needless-ack-ends-the-session", "RLY-008", "ends the session on an unknown id", NeedlessAckEndsTheSession
    ),
    Mutant("relay-remembers-early-acks", "RLY-008", "keeps an ack for a blob to come", RemembersEarlyAcks),
    Mutant("relay-takes-acks-after-the-end", "RLY-008", "takes an ack on a closed session", TakesAcksAfterTheEnd),
    Mutant("relay-anybody-may-ack", "RLY-007", "deletes whoever acks", AnybodyMayAck),
    Mutant(
        "relay-foreign-ack-ends-the-session",
        "RLY-007",
        "ends the session of a device that acks another's blob",
        ForeignAckEndsTheSession,
    ),
    Mutant("relay-tells-everybody", "RLY-007", "sends a blob to every device", TellsEverybody),
    Mutant("relay-waits-for-other-devices", "RLY-022", "waits until other devices have acked", WaitsForOtherDevices),
    Mutant("relay-window-for-all-devices", "RLY-022", "counts un-acked blobs over all devices", WindowForAllDevices),
    Mutant(
        "relay-sessions-of-all-devices-are-few", "RLY-022", "serves four sessions in all", SessionsOfAllDevicesAreFew
    ),
    Mutant(
        "relay-second-gets-what-others-have-not",
        "RLY-020",
        "sends a second session only what the first was not sent",
        SecondGetsWhatOthersHaveNot,
    ),
    Mutant("relay-hand-over-counts-as-ack", "RLY-020", "deletes at the hand-over", HandOverCountsAsAck),
    Mutant(
        "relay-end-takes-the-device-off",
        "RLY-020",
        "ends all sessions of a device with one",
        with_sessions(EndTakesTheDeviceOff),
    ),
    Mutant("relay-second-session-is-ended", "RLY-020", "serves the first session only", SecondSessionIsEnded),
    Mutant(
        "relay-acks-count-on-the-newest-session",
        "RLY-006",
        "deletes another blob when the ack comes on an older session",
        AcksCountOnTheNewestSession,
    ),
    Mutant("relay-one-reader-at-a-time", "RLY-020", "loses what arrives at the hand-over", OneReaderAtATime),
    Mutant("relay-cuts-line-ends", "RLY-016", "cuts line ends off", with_inboxes(CutsLineEnds)),
    Mutant("relay-cuts-blanks", "RLY-016", "cuts blanks off", with_inboxes(CutsBlanks)),
    Mutant("relay-keeps-text", "RLY-016", "reads envelopes as UTF-8", with_inboxes(KeepsText)),
    Mutant("relay-ends-at-zero", "RLY-016", "cuts an envelope at its first zero", with_inboxes(EndsAtZero)),
    Mutant("relay-drops-byte-order-mark", "RLY-016", "drops a byte order mark", with_inboxes(DropsByteOrderMark)),
    Mutant("relay-length-in-fifteen-bits", "RLY-016", "cuts after 32,767 bytes", with_inboxes(LengthInFifteenBits)),
    Mutant("relay-pads-to-blocks", "RLY-016", "fills envelopes up to whole blocks", with_inboxes(PadsToBlocks)),
    Mutant("relay-drops-empty-ones", "RLY-016", "does not deliver an empty envelope", DropsEmptyOnes),
    Mutant("relay-stores-equal-bytes-once", "RLY-016", "drops a copy", with_inboxes(StoresEqualBytesOnce)),
    Mutant(
        "relay-stores-equal-bytes-once-for-all",
        "RLY-016",
        "takes the same bytes for two devices for one blob",
        StoresEqualBytesOnceForAll,
    ),
    Mutant("relay-knows-bytes-again", "RLY-016", "does not deliver bytes that were acked before", KnowsBytesAgain),
)
