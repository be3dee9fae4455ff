"""Capability `tcp`: bytes to and from a relay's listeners, and every way to leave one."""

from __future__ import annotations

import base64
import select
import socket
import threading
from collections.abc import Iterator

import pytest

from conformance.drivers.bare_connections import BareConnections
from conformance.drivers.channel import RefusedError
from conformance.drivers.relay_ports import LOOPBACK, free_ports
from conformance.drivers.socket_watch import SocketWatch
from conformance.outcome import DriverError
from reference_impl.wire.json_types import JsonObject

SECONDS = 20.0
MUCH = 64 * 1024 * 1024
"""Far more than any buffer on this machine."""


class Bench:
    """A listener, and the kit's side of connections to it."""

    def __init__(self) -> None:
        self.listener = socket.create_server((LOOPBACK, 0))
        self.listener.settimeout(SECONDS)
        self.watch = SocketWatch()
        self.told: list[JsonObject] = []
        self.bare = BareConnections(self.watch, self.told.append)
        self.others: list[socket.socket] = []

    def connect(self) -> tuple[str, socket.socket]:
        name = self.bare.open(LOOPBACK, self.listener.getsockname()[1], SECONDS)
        other, _ = self.listener.accept()
        other.settimeout(SECONDS)
        self.others.append(other)
        return name, other

    def close(self) -> None:
        self.bare.forget()
        for each in (*self.others, self.listener):
            each.close()

    def told_until(self, method: str) -> JsonObject:
        while not any(message["method"] == method for message in self.told):
            assert self.watch.wait(SECONDS), f"no {method} came"
        return next(message for message in self.told if message["method"] == method)


def sent_until_full(sender: socket.socket) -> int:
    """How many bytes the network between takes, MUCH at most."""
    sent = 0
    try:
        while sent < MUCH:
            sent += sender.send(bytes(1024 * 1024))
    except BlockingIOError:
        return sent
    return sent


@pytest.fixture(name="bench")
def _bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def test_bytes_go_both_ways_as_they_are(bench: Bench) -> None:
    name, other = bench.connect()
    bench.bare.write({"connection": name, "data": text(b"\x00\xff hello")})
    assert other.recv(100) == b"\x00\xff hello"
    other.sendall(b"unsupported 1..1\n")
    told = bench.told_until("connection.data")
    assert told["params"] == {"connection": name, "data": text(b"unsupported 1..1\n")}


def test_more_than_fits_is_sent_while_the_kit_waits(bench: Bench) -> None:
    name, other = bench.connect()
    size = 16 * 1024 * 1024
    received = bytearray()

    def read() -> None:
        while len(received) < size:
            received.extend(other.recv(1024 * 1024))
        other.sendall(b"all")

    reader = threading.Thread(target=read)
    reader.start()
    bench.bare.write({"connection": name, "data": text(bytes(size))})
    bench.told_until("connection.data")
    reader.join(SECONDS)
    assert bytes(received) == bytes(size)


def test_fin_ends_sending_and_goes_on_reading(bench: Bench) -> None:
    name, other = bench.connect()
    bench.bare.write({"connection": name, "data": text(b"last")})
    bench.bare.close({"connection": name, "how": "fin"})
    assert other.recv(100) == b"last"
    assert other.recv(100) == b""
    other.sendall(b"more")
    other.close()
    assert bench.told_until("connection.closed")["params"] == {"connection": name, "how": "fin"}
    assert bench.told_until("connection.data")["params"] == {"connection": name, "data": text(b"more")}


def test_reset_is_a_reset(bench: Bench) -> None:
    name, other = bench.connect()
    bench.bare.close({"connection": name, "how": "reset"})
    with pytest.raises(ConnectionResetError):
        other.recv(100)


def test_who_vanishes_neither_reads_nor_says_so(bench: Bench) -> None:
    name, other = bench.connect()
    still, another = bench.connect()
    bench.bare.close({"connection": name, "how": "vanish"})
    bench.bare.write({"connection": name, "data": text(b"too late")})
    other.sendall(b"anybody there")
    another.sendall(b"hello")
    bench.told_until("connection.data")
    assert [message["params"] for message in bench.told] == [{"connection": still, "data": text(b"hello")}]
    assert select.select([other], [], [], 0)[0] == []


def test_a_pause_stops_the_other_side_in_the_end(bench: Bench) -> None:
    name, other = bench.connect()
    bench.bare.pause({"connection": name})
    other.setblocking(False)
    assert sent_until_full(other) < MUCH
    assert bench.told == []


@pytest.mark.parametrize("how", ["fin", "reset"])
def test_the_end_by_the_relay_is_told_once(how: str, bench: Bench) -> None:
    name, other = bench.connect()
    if how == "reset":
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    other.close()
    assert bench.told_until("connection.closed")["params"] == {"connection": name, "how": how}
    bench.bare.write({"connection": name, "data": text(b"too late")})
    bench.bare.close({"connection": name, "how": "fin"})
    assert len(bench.told) == 1


def test_a_refused_connection_and_one_that_nobody_opened(bench: Bench) -> None:
    with pytest.raises(RefusedError, match=r"nothing listens at 127\.0\.0\.1:"):
        bench.bare.open(LOOPBACK, free_ports(1)[0], SECONDS)
    with pytest.raises(DriverError, match="there is no connection 'connection-7'"):
        bench.bare.write({"connection": "connection-7", "data": ""})
