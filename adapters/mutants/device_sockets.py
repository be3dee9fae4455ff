"""Devices that go wrong on their sockets, where only `link: tcp` shows it."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.reference.device_over_tcp import DeviceOverTcp
from reference_impl.device.wire_sessions import BlobCame, WireSessions
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.noise import KeyPair


@dataclass(frozen=True, slots=True)
class SocketMutant:
    """A wrong device behind `link: tcp`. `breaks` is the clause that it breaks; `does` says what it does instead."""

    name: str
    breaks: str
    does: str
    driver: type[DeviceOverTcp]


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
    SocketMutant(
        "sockets-take-what-was-cut-off", "RCV-013", "takes half a blob for one", _with_sessions(TakesWhatWasCutOff)
    ),
    SocketMutant("sockets-any-relay", "SND-032", "talks to any relay", _with_sessions(TalksToAnyRelay)),
)
