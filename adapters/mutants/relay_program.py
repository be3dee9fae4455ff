# ruff: noqa: ARG002 - a relay that deviates need not use all it is given
"""Relay programs that break what only sockets, deadlines and signals show (RLY-017 to RLY-020, RLY-022 to RLY-028)."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.program_deviation import ProgramMutant, with_session
from reference_impl.relay.effects import Deliver, Effect
from reference_impl.relay.program import RelayProgram
from reference_impl.relay.wire_session import WireSession
from reference_impl.wire import frames
from reference_impl.wire.connection import Connection
from reference_impl.wire.frames import Frame

EVERY_VERSION = (0, 65_535)
LENGTH_BYTES = 2

# -- the version prefix


class VersionInSilence(WireSession):
    def version_refused(self) -> None:
        self.connection.data_to_send()
        super().version_refused()


class VersionInOtherWords(WireSession):
    def version_refused(self) -> None:
        self.connection.data_to_send()
        self.write(b"unsupported\n")
        super().version_refused()


class VersionLeftOpen(WireSession):
    def version_refused(self) -> None:
        self.flush()


class AnyVersion(WireSession):
    def create_connection(self) -> Connection:
        return Connection.responder(self.host.profile, self.kind, self.host.relay_key, EVERY_VERSION)


# -- frames


class UnknownInSilence(WireSession):
    def unknown_frame(self, frame: Frame) -> None:
        pass


class UnknownIsEchoed(WireSession):
    def unknown_frame(self, frame: Frame) -> None:
        body = frame.body if isinstance(frame, frames.UnknownFrame | frames.MalformedFrame) else b""
        self.send(frames.Error(self.host.profile.error_body("generic") + body))


class UnknownIsMalformed(WireSession):
    def unknown_frame(self, frame: Frame) -> None:
        self.send(frames.Error(self.host.profile.error_body("malformed")))


class UnknownEndsTheConnection(WireSession):
    def unknown_frame(self, frame: Frame) -> None:
        self.end("unknown_frame")


class UnknownIsAcked(WireSession):
    def unknown_frame(self, frame: Frame) -> None:
        self.send(frames.Ack())


class NeedsWholeMessages(WireSession):
    """Takes what one read gives for whole messages."""

    def data_received(self, data: bytes) -> None:
        if self.connection.established and not _ends_with_a_message(data):
            self.end("broken_wire")
        else:
            super().data_received(data)


class OneMessageARead(WireSession):
    """Takes what one read gives for one message."""

    def data_received(self, data: bytes) -> None:
        if self.connection.established and len(data) > LENGTH_BYTES:
            data = data[: LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")]
        super().data_received(data)


def _ends_with_a_message(data: bytes) -> bool:
    start = 0
    while start + LENGTH_BYTES <= len(data):
        start += LENGTH_BYTES + int.from_bytes(data[start : start + LENGTH_BYTES], "big")
    return start == len(data)


# -- several sessions


class SecondSessionWaits(RelayProgram):
    """Sends a second Receive Session of a device nothing while the first is open."""

    def established(self, session: WireSession) -> None:
        mine = [
            each
            for each in self.sessions.values()
            if each.kind == "receive" and each.connection.remote_pub == session.connection.remote_pub
        ]
        if session.kind == "push" or len(mine) == 1:
            super().established(session)


class OneQueueForAll(RelayProgram):
    """Sends nobody anything while one device does not read."""

    _held: tuple[Effect, ...] = ()

    def carry_out(self, effects: Sequence[Effect]) -> None:
        if any(session.clogged for session in self.sessions.values()):
            self._held += tuple(effects)
        else:
            held, self._held = self._held, ()
            super().carry_out((*held, *effects))


class StopsForASlowReader(RelayProgram):
    """Sends no Blob to anyone once one device has left its Blobs unread."""

    def carry_out(self, effects: Sequence[Effect]) -> None:
        blocked = any(session.clogged for session in self.sessions.values())
        super().carry_out([effect for effect in effects if not (blocked and isinstance(effect, Deliver))])


class ForOneDeviceOnly(RelayProgram):
    """Opens the inbox of whoever came first to everybody."""

    _first: bytes | None = None

    def device_of(self, session: WireSession) -> bytes | None:
        self._first = self._first or super().device_of(session)
        return self._first


# -- deadlines


class NoHandshakeDeadline(WireSession):
    def await_handshake(self) -> None:
        pass


class EachByteProlongsTheHandshake(WireSession):
    def data_received(self, data: bytes) -> None:
        if not self.connection.established:
            self.accepted_at = self.loop.time()
            self.await_handshake()
        super().data_received(data)


class NoPushDeadline(WireSession):
    def bound_push_session(self) -> None:
        self.no_deadline()


class EachPushProlongs(WireSession):
    def data_received(self, data: bytes) -> None:
        if self.connection.established and self.kind == "push":
            self.accepted_at = self.loop.time()
            self.bound_push_session()
        super().data_received(data)


class NoEcho(WireSession):
    def heartbeat(self) -> None:
        pass


class NoIdleClose(WireSession):
    def watch_idleness(self) -> None:
        self.no_deadline()


class HeartbeatsAreNothing(WireSession):
    """Closes a session on which nothing but heartbeats came."""

    def data_received(self, data: bytes) -> None:
        self._heard_before = self.heard_at
        super().data_received(data)

    def heartbeat(self) -> None:
        self.heard_at = self._heard_before
        super().heartbeat()


# -- the end


class IgnoresTheSignal(RelayProgram):
    def stop(self) -> None:
        pass


class DrainsWithoutEnd(RelayProgram):
    """Waits until the last device has gone by itself."""

    async def drain(self) -> None:
        self.close_listeners()
        if self.sessions:
            await self.emptied.wait()


# -- bounds


class HalfTheConnections(RelayProgram):
    def has_room(self, session: WireSession) -> bool:
        return 2 * self.counts[session.kind] < self.deadlines.max_connections


class PlacesAreNotGivenBack(RelayProgram):
    def gone(self, session: WireSession) -> None:
        super().gone(session)
        self.counts[session.kind] += 1


class ListenersShareTheBound(RelayProgram):
    def has_room(self, session: WireSession) -> bool:
        return sum(self.counts.values()) < self.deadlines.max_connections


MUTANTS = (
    ProgramMutant(
        "relay-program-version-in-silence", "RLY-017", "closes without a word", with_session(VersionInSilence)
    ),
    ProgramMutant(
        "relay-program-version-without-range", "RLY-017", "tells no supported range", with_session(VersionInOtherWords)
    ),
    ProgramMutant(
        "relay-program-version-left-open", "RLY-017", "refuses and does not close", with_session(VersionLeftOpen)
    ),
    ProgramMutant("relay-program-any-version", "RLY-017", "serves every version", with_session(AnyVersion)),
    ProgramMutant(
        "relay-program-unknown-in-silence", "RLY-018", "drops unknown frames in silence", with_session(UnknownInSilence)
    ),
    ProgramMutant(
        "relay-program-unknown-is-echoed", "RLY-018", "repeats the body in the Error", with_session(UnknownIsEchoed)
    ),
    ProgramMutant(
        "relay-program-unknown-is-malformed", "RLY-018", "answers another code", with_session(UnknownIsMalformed)
    ),
    ProgramMutant(
        "relay-program-unknown-ends", "RLY-018", "closes without an Error", with_session(UnknownEndsTheConnection)
    ),
    ProgramMutant("relay-program-unknown-is-acked", "RLY-018", "acks unknown frames", with_session(UnknownIsAcked)),
    ProgramMutant(
        "relay-program-needs-whole-messages",
        "RLY-019",
        "reads a message only if it arrives whole",
        with_session(NeedsWholeMessages),
    ),
    ProgramMutant(
        "relay-program-one-message-a-read",
        "RLY-019",
        "drops what arrives together with a message",
        with_session(OneMessageARead),
    ),
    ProgramMutant("relay-program-second-session-waits", "RLY-020", "serves the first session only", SecondSessionWaits),
    ProgramMutant("relay-program-one-queue-for-all", "RLY-022", "waits for the slow reader", OneQueueForAll),
    ProgramMutant(
        "relay-program-stops-for-a-slow-reader",
        "RLY-022",
        "delivers to nobody after a device has not read",
        StopsForASlowReader,
    ),
    ProgramMutant(
        "relay-program-no-handshake-deadline", "RLY-023", "waits for ever", with_session(NoHandshakeDeadline)
    ),
    ProgramMutant(
        "relay-program-bytes-prolong-the-handshake",
        "RLY-023",
        "counts from the last byte",
        with_session(EachByteProlongsTheHandshake),
    ),
    ProgramMutant("relay-program-no-push-deadline", "RLY-024", "keeps Push Sessions", with_session(NoPushDeadline)),
    ProgramMutant(
        "relay-program-pushes-prolong", "RLY-024", "counts from the last push", with_session(EachPushProlongs)
    ),
    ProgramMutant("relay-program-no-echo", "RLY-025", "echoes no heartbeat", with_session(NoEcho)),
    ProgramMutant("relay-program-no-idle-close", "RLY-025", "keeps silent sessions", with_session(NoIdleClose)),
    ProgramMutant(
        "relay-program-heartbeats-are-nothing",
        "RLY-025",
        "closes in spite of heartbeats",
        with_session(HeartbeatsAreNothing),
    ),
    ProgramMutant("relay-program-ignores-the-signal", "RLY-026", "goes on after SIGTERM", IgnoresTheSignal),
    ProgramMutant("relay-program-drains-without-end", "RLY-026", "waits for its devices to go", DrainsWithoutEnd),
    ProgramMutant("relay-program-half-the-connections", "RLY-027", "serves half of them", HalfTheConnections),
    ProgramMutant("relay-program-keeps-places", "RLY-027", "counts connections that are over", PlacesAreNotGivenBack),
    ProgramMutant(
        "relay-program-listeners-share", "RLY-027", "has one bound for both listeners", ListenersShareTheBound
    ),
    ProgramMutant(
        "relay-program-one-inbox-for-all", "RLY-028", "opens the first device's inbox to all", ForOneDeviceOnly
    ),
)
