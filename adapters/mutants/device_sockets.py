"""Devices that go wrong on their sockets, where only `link: tcp` shows it."""

from __future__ import annotations

from adapters.program_deviation import ProgramMutant
from adapters.reference.device_over_tcp import DeviceOverTcp
from reference_impl.device.wire_sessions import BlobCame, WireSessions
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.noise import KeyPair


def _with_sessions(sessions: type[WireSessions]) -> type[DeviceOverTcp]:
    class Deviating(DeviceOverTcp):
        sessions_class = sessions

    return Deviating


class TakesWhatWasCutOff(WireSessions):
    """Hands on what a lost connection had begun to bring."""

    def note_loss(self, session: str, connection: Connection) -> None:
        if session and connection._buffer:
            self._happened.append(BlobCame(session, "0", bytes(connection._buffer)))


class TalksToAnyRelay(WireSessions):
    """Takes the key that a relay proves for the right one."""

    def make_connection(self, kind: Kind, own: KeyPair | None, version: int) -> Connection:
        connection = super().make_connection(kind, own, version)
        connection._relay_pub = None
        return connection


MUTANTS = (
    ProgramMutant(
        "sockets-take-what-was-cut-off", "RCV-013", "takes half a blob for one", _with_sessions(TakesWhatWasCutOff)
    ),
    ProgramMutant("sockets-any-relay", "SND-032", "talks to any relay", _with_sessions(TalksToAnyRelay)),
)
