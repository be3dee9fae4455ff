"""Relay programs that use what the spec leaves open about connections and time."""

from __future__ import annotations

from adapters.program_deviation import ProgramVariant, with_relay, with_session
from reference_impl.relay.effects import Effect, SessionClosed
from reference_impl.relay.program import RelayProgram
from reference_impl.relay.relay import Relay
from reference_impl.relay.wire_session import WireSession
from reference_impl.wire import frames
from reference_impl.wire.frames import Frame

BATCH = 4
BATCH_SECONDS = 0.02
PIECE_BYTES = 7
WHOLE_BYTES = 70


class ClosesAfterUnknown(WireSession):
    """Answers an unknown frame and closes."""

    def unknown_frame(self, frame: Frame) -> None:
        super().unknown_frame(frame)
        self.end("unknown_frame")


class EndsPushSessions(WireSession):
    """Ends a Push Session after each Ack: a sender pushes anew what it has no answer to."""

    def answer(self, code: str | None) -> None:
        super().answer(code)
        if code is None:
            self.end("answered")


class DeliversInBatches(WireSession):
    """Sends up to four Blobs together, when the fourth is there or 20 ms have passed."""

    gathered = 0

    def flush(self) -> None:
        if self.kind == "receive" and self.connection.established and self.gathered < BATCH - 1:
            self.gathered += 1
            self.loop.call_later(BATCH_SECONDS, super().flush)
        else:
            self.gathered = 0
            super().flush()


class SpareHeartbeats(WireSession):
    """Sends a heartbeat behind each Blob; heartbeats carry no meaning beyond the echo that is owed."""

    def deliver(self, blob_id: int, envelope: bytes) -> None:
        super().deliver(blob_id, envelope)
        self.send(frames.Heartbeat())
        self.flush()


class InPieces(WireSession):
    """Writes in small pieces: how bytes are cut up means nothing."""

    def write(self, data: bytes) -> None:
        head, rest = data[:WHOLE_BYTES], data[WHOLE_BYTES:]
        for start in range(0, len(head), PIECE_BYTES):
            super().write(head[start : start + PIECE_BYTES])
        super().write(rest)


class RefusesTheNewest(Relay):
    """Keeps the sessions that a device has and ends the one beyond the bound."""

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        if self.sessions.surplus(device):
            return [SessionClosed(session)]
        return super().open_receive_session(session, device, now)


class OldestConnectionGivesWay(RelayProgram):
    """Cuts the oldest connection of a full listener for the new one."""

    def has_room(self, session: WireSession) -> bool:
        if not super().has_room(session):
            next(each for each in self.sessions.values() if each.kind == session.kind).end("too_many_connections")
        return True


class LeavesItsDevicesTime(WireSession):
    """Leaves its devices two seconds to close their side of an ended connection."""

    linger_seconds = 2.0


VARIANTS = (
    ProgramVariant(
        "relay-program-closes-after-unknown",
        "closes a connection after the Error for an unknown frame; what comes after is not said",
        with_session(ClosesAfterUnknown),
    ),
    ProgramVariant(
        "relay-program-ends-push-sessions",
        "ends a Push Session after an Ack; a session is never promised to last",
        with_session(EndsPushSessions),
    ),
    ProgramVariant(
        "relay-program-delivers-in-batches", "waits 20 ms for more to send with it", with_session(DeliversInBatches)
    ),
    ProgramVariant(
        "relay-program-spare-heartbeats", "sends a heartbeat behind each blob", with_session(SpareHeartbeats)
    ),
    ProgramVariant("relay-program-in-pieces", "writes in pieces of seven bytes", with_session(InPieces)),
    ProgramVariant(
        "relay-program-refuses-the-newest",
        "ends the Receive Session beyond the bound; which one goes is open",
        with_relay(RefusesTheNewest),
    ),
    ProgramVariant(
        "relay-program-oldest-connection-gives-way",
        "ends the oldest connection for one beyond the bound",
        OldestConnectionGivesWay,
    ),
    ProgramVariant(
        "relay-program-leaves-its-devices-time",
        "waits two seconds for its devices to close their side too",
        with_session(LeavesItsDevicesTime),
    ),
)
