"""`python -m tests.conformance.faulty_devices FAULT`: devices that go wrong on the sockets of the kit's relay."""

from __future__ import annotations

import socket
import sys
import time

from adapters.reference.device_over_tcp import DeviceOverTcp, serve
from adapters.reference.disk import FolderDisk
from adapters.reference.jsonrpc import Params
from reference_impl.device.effects import Effect, OpenReceiveSession, Push
from reference_impl.device.sqlite_store import SqliteStore
from reference_impl.wire import frames
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.relay_address import RelayAddress, parse


class NeverConnects(DeviceOverTcp):
    def _to_relay(self, effect: Effect) -> bool:
        return isinstance(effect, OpenReceiveSession | Push)


class Stranger(DeviceOverTcp):
    """Opens connections of its own, besides or instead of sessions."""

    address: RelayAddress
    said = b""

    def _open(self, params: Params) -> JsonObject:
        self.address = parse(str(params["relay_address"]))
        self.strange: list[socket.socket] = []
        return super()._open(params)

    def _relay_connected(self, params: Params) -> JsonObject:
        for port in (self.address.receive_port, self.address.push_port):
            made = socket.create_connection((self.address.host, port))
            made.sendall(self.said)
            self.strange.append(made)
        return super()._relay_connected(params)


class Garbage(Stranger):
    said = b"GET / HTTP/1.1\r\n\r\n"


class HalfHandshake(Stranger):
    said = b"TS\0\1\0\x20half"


class ConnectsTwice(Stranger):
    """Connections that nothing is said on are no fault."""


class RelayFrames(DeviceOverTcp):
    """Sends what only a relay may send."""

    def _to_relay(self, effect: Effect) -> bool:
        done = super()._to_relay(effect)
        if isinstance(effect, Push) and self.sessions is not None:
            for peer in self.sessions._peers.values():
                self.sessions._send(peer, frames.Deliver(1, b"from nobody"))
        return done


class _Envelopes(DeviceOverTcp):
    """Pushes these bytes in place of each Envelope."""

    envelope = b""

    def _written(self, envelope: Json) -> bytes:  # noqa: ARG002 - whatever was to be sent
        return self.envelope


class DeepEnvelopes(_Envelopes):
    envelope = b"[" * 50_000 + b"]" * 10_000


class NumberlessEnvelopes(_Envelopes):
    envelope = b'{"end_to_end_version": NaN}'


class SpendsItsTime(DeviceOverTcp):
    """Answers no settle once it is connected."""

    def _settle(self, params: Params) -> JsonObject:
        if self.sessions is not None and self.sessions.filenos():
            time.sleep(60)
        return super()._settle(params)


FAULTS: dict[str, type[DeviceOverTcp]] = {
    "none": DeviceOverTcp,
    "never_connects": NeverConnects,
    "garbage": Garbage,
    "half_handshake": HalfHandshake,
    "connects_twice": ConnectsTwice,
    "relay_frames": RelayFrames,
    "deep_envelopes": DeepEnvelopes,
    "numberless_envelopes": NumberlessEnvelopes,
    "spends_its_time": SpendsItsTime,
}

if __name__ == "__main__":
    sys.exit(serve(FAULTS[sys.argv[1]](FolderDisk(SqliteStore))))
