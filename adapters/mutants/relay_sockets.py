"""Relay programs that go wrong where only sockets show it: versions, frames, deadlines, bounds, slow readers (RLY)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import ClassVar

from adapters.program_deviation import ProgramMutant, with_session
from reference_impl.relay.options import Options
from reference_impl.relay.program import RelayProgram
from reference_impl.relay.wire_session import Host, WireSession
from reference_impl.wire import frames
from reference_impl.wire.connection import Kind
from reference_impl.wire.errors import WireError
from reference_impl.wire.frames import Frame
from reference_impl.wire.noise import NK, Handshake, KeyPair

OTHER_PREFIX = b"TS\0\2"


# -- versions


class RefusesAsFrame(WireSession):
    """Tells the range in a way that only who speaks the version can read."""

    def version_refused(self) -> None:
        self.connection.data_to_send()
        self.write(b"\0\0")
        self.end("unsupported_version")


class PrefixUnbound(WireSession):
    """Also finishes a handshake that another prefix was meant for."""

    def data_received(self, data: bytes) -> None:
        if self.kind == "push" and not self.connection.established and self._is_for_another_prefix(data[6:]):
            made = partial(Handshake, NK, initiator=False, static=self.host.relay_key, prologue=OTHER_PREFIX)
            self.connection._make_handshake = lambda _prefix: made()
        super().data_received(data)

    def _is_for_another_prefix(self, message: bytes) -> bool:
        try:
            Handshake(NK, initiator=False, static=self.host.relay_key, prologue=OTHER_PREFIX).read_message(message)
        except WireError:
            return False
        return True


# -- frames


class DeliversJunk(WireSession):
    """Has something for the next device that comes, whoever it is, once something went wrong."""

    owed: ClassVar[list[bytes]] = []

    def _established(self) -> None:
        super()._established()
        if self.kind == "receive" and self.owed:
            self.send(frames.Deliver(2**63, self.owed.pop()))
            self.flush()


class StoresWhatWasCutOff(DeliversJunk):
    """Takes what a dying connection left unfinished for a push."""

    def connection_lost(self, exc: Exception | None) -> None:
        if self.kind == "push" and self.connection._buffer:
            self.owed.append(bytes(self.connection._buffer))
        super().connection_lost(exc)


class TakesBrokenMessages(DeliversJunk):
    """Takes a message that does not authenticate for a push."""

    def end(self, reason: str) -> None:
        if reason == "broken_wire" and self.kind == "push" and self.connection._transport is not None:
            self.owed.append(b"?")
        super().end(reason)


class WaitsForTheRest(RelayProgram):
    """Answers nobody while a frame is half read."""

    def pushed(self, session: WireSession, body: bytes) -> None:
        if not any(each.connection._buffer for each in self.sessions.values() if each is not session):
            super().pushed(session, body)


class DeafAfterBadFrames(WireSession):
    """One message that is no frame, and nobody is listened to any more."""

    deaf: ClassVar[set[str]] = set()

    def data_received(self, data: bytes) -> None:
        if not self.deaf:
            super().data_received(data)

    def end(self, reason: str) -> None:
        super().end(reason)
        if reason == "broken_wire" and self.connection._transport is not None:
            self.deaf.add(self.name)


class BodiesOf64KiBAtMost(WireSession):
    """Has a buffer for 64,000 bytes."""

    def frame_received(self, frame: Frame) -> None:
        if isinstance(frame, frames.Push) and len(frame.envelope) > 64_000:
            self.answer("too_large")
        else:
            super().frame_received(frame)


# -- handshakes


class TalksToStrangers(WireSession):
    """Tells in plain words what it is to whoever speaks something else."""

    def end(self, reason: str) -> None:
        if reason == "broken_wire" and self.connection._transport is None:
            self.write(b"this is a relay\n")
        super().end(reason)


class TakesRecordings(WireSession):
    """Takes a connection that begins like an earlier one for the same sender, and its pushes for sent again."""

    recorded: ClassVar[list[tuple[str, bytes, bytes]]] = []

    def __init__(self, host: Host, kind: Kind) -> None:
        super().__init__(host, kind)
        self._came = b""

    def data_received(self, data: bytes) -> None:
        self._came += data
        for name, bytes_then, body in self.recorded:
            if name != self.name and self._came == bytes_then:
                self.host.established(self)
                self.host.pushed(self, body)
                return
        super().data_received(data)

    def frame_received(self, frame: Frame) -> None:
        if isinstance(frame, frames.Push):
            self.recorded.append((self.name, self._came, frame.recipient_pub + frame.envelope))
        super().frame_received(frame)


class DeafAfterStrangers(DeafAfterBadFrames):
    """Whoever cannot shake hands is the last one that is listened to."""

    def end(self, reason: str) -> None:
        WireSession.end(self, reason)
        if reason == "broken_wire" and self.connection._transport is None:
            self.deaf.add(self.name)


# -- slow and half-dead peers


class ForgetsWhatWaits(WireSession):
    """Takes what it could not write for sent, and deletes it."""

    def deliver(self, blob_id: int, envelope: bytes) -> None:
        if self.clogged:
            self.host.acked(self, blob_id)
        else:
            super().deliver(blob_id, envelope)


class AcksBeforeItStores(RelayProgram):
    """Acks at once, and stores half a second later."""

    def pushed(self, session: WireSession, body: bytes) -> None:
        if self.relay.is_malformed(body):
            super().pushed(session, body)
            return
        session.answer(None)
        asyncio.get_running_loop().call_later(0.5, self._store_late, body)

    def _store_late(self, body: bytes) -> None:
        self.relay.open_push_session("late")
        self.carry_out(self.relay.push("late", 0, body, self.now()))


# -- heartbeats, bounds, the end


class EchoesEveryOther(WireSession):
    _beats = 0

    def heartbeat(self) -> None:
        self._beats += 1
        if self._beats % 2:
            super().heartbeat()


class DeadlineGoesOn(WireSession):
    """The handshake's deadline ends what finished its handshake long ago."""

    def _established(self) -> None:
        deadline = self.host.deadlines.handshake_deadline
        super()._established()
        self.loop.call_later(deadline / 1000, self.end, "handshake_deadline")


class OneLessConnection(RelayProgram):
    def has_room(self, session: WireSession) -> bool:
        return self.counts[session.kind] + 1 < self.deadlines.max_connections


class SessionsUnbounded(RelayProgram):
    """Serves any number of sessions of one device."""

    def __init__(self, options: Options, relay_key: KeyPair) -> None:
        settings = replace(options.settings, max_sessions_per_device=1000)
        super().__init__(replace(options, settings=settings), relay_key)


class DropsTheStoreAtStop(RelayProgram):
    """Clears up on its way out."""

    def stop(self) -> None:
        self.relay.inboxes.delete(list(self._store.all_blobs()))
        super().stop()


_SESSIONS: tuple[tuple[str, str, str, type[WireSession]], ...] = (
    ("relay-program-refuses-in-bytes", "RLY-017", "refuses a version by two zero bytes", RefusesAsFrame),
    ("relay-program-prefix-unbound", "RLY-028", "leaves the prefix out of the handshake", PrefixUnbound),
    ("relay-program-stores-what-was-cut-off", "RLY-019", "stores a push that was cut off", StoresWhatWasCutOff),
    (
        "relay-program-takes-broken-messages",
        "RLY-019",
        "takes a message that does not authenticate",
        TakesBrokenMessages,
    ),
    ("relay-program-64000-bytes", "RLY-009", "refuses Envelopes above 64,000 bytes", BodiesOf64KiBAtMost),
    (
        "relay-program-deaf-after-bad-frames",
        "RLY-019",
        "hears nobody after a bad message",
        DeafAfterBadFrames,
    ),
    ("relay-program-deaf-after-strangers", "RLY-028", "hears nobody after a handshake that failed", DeafAfterStrangers),
    ("relay-program-talks-to-strangers", "RLY-028", "tells strangers what it is", TalksToStrangers),
    ("relay-program-takes-recordings", "RLY-028", "takes a recorded session for a session", TakesRecordings),
    ("relay-program-forgets-what-waits", "RLY-022", "deletes what a slow device has not read", ForgetsWhatWaits),
    (
        "relay-program-handshake-deadline-goes-on",
        "RLY-023",
        "ends sessions at the handshake's deadline",
        DeadlineGoesOn,
    ),
    ("relay-program-echoes-every-other", "RLY-025", "echoes every other heartbeat", EchoesEveryOther),
)
_PROGRAMS: tuple[tuple[str, str, str, type[RelayProgram]], ...] = (
    ("relay-program-waits-for-the-rest", "RLY-022", "answers nobody while a frame is half read", WaitsForTheRest),
    ("relay-program-acks-before-storing", "RLY-001", "acks at once and stores half a second later", AcksBeforeItStores),
    (
        "relay-program-clears-up-at-the-stop",
        "RLY-026",
        "deletes what waits at the stop signal",
        DropsTheStoreAtStop,
    ),
    ("relay-program-one-less", "RLY-027", "serves one connection less than it may", OneLessConnection),
    ("relay-program-sessions-unbounded", "RLY-027", "serves any number of sessions of a device", SessionsUnbounded),
)
MUTANTS: tuple[ProgramMutant[RelayProgram], ...] = (
    *(ProgramMutant(name, breaks, does, with_session(session)) for name, breaks, does, session in _SESSIONS),
    *(ProgramMutant(name, breaks, does, program) for name, breaks, does, program in _PROGRAMS),
)
