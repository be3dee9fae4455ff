"""What the tests of relay programs share: one that runs, and devices that speak to it over blocking sockets."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reference_impl.wire.connection import Connection, Event, FrameReceived, Kind
from reference_impl.wire.frames import Frame
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import parse

ROOT = Path(__file__).parents[2]
REFERENCE = ("reference_impl.relay",)
PATIENCE = 30.0
"""Seconds until a test gives up on what must come."""
LOG_LINE = re.compile(r"event=[a-z_]+( [a-z]+=[a-z0-9_-]+)*")


class RunningRelay:
    """A relay program of the test's own, on ports that the system chose."""

    def __init__(self, data: Path, flags: Sequence[str] = (), module: Sequence[str] = REFERENCE) -> None:
        self._log = data.parent / f"{data.name}.log"
        listeners = ("--receive=127.0.0.1:0", "--push=127.0.0.1:0")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *module, f"--data={data}", *listeners, *flags],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        if not ready.startswith("ready "):
            self.process.kill()
            self.process.communicate()
        assert ready.startswith("ready trueseal://"), self.log()
        self.address = parse(ready.removeprefix("ready ").strip())

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def signal(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end. Returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def running(data: Path, *flags: str, module: Sequence[str] = REFERENCE) -> Iterator[RunningRelay]:
    relay = RunningRelay(data, flags, module)
    try:
        yield relay
    finally:
        relay.process.kill()
        relay.process.communicate()


class ClosedByRelayError(Exception):
    """The relay ended the connection where a frame was expected."""


def tcp(relay: RunningRelay, kind: Kind, receive_buffer: int = 0) -> socket.socket:
    """A bare connection to one listener."""
    plug = socket.socket()
    if receive_buffer:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    plug.settimeout(PATIENCE)
    address = relay.address
    plug.connect((address.host, address.receive_port if kind == "receive" else address.push_port))
    return plug


def until_closed(plug: socket.socket) -> bytes:
    """All that the relay still sends, to the end of its stream; a reset fails the test."""
    found = b""
    while data := plug.recv(65_536):
        found += data
    return found


@dataclass(slots=True)
class Session:
    """One established session of a Device."""

    plug: socket.socket
    connection: Connection
    _events: list[Event] = field(default_factory=list)

    def send(self, *frames: Frame) -> None:
        for frame in frames:
            self.connection.send(frame)
        self.flush()

    def flush(self) -> None:
        self.plug.sendall(self.connection.data_to_send())

    def next(self) -> Frame:
        """The next frame. Raises ClosedByRelayError if the relay closes instead."""
        event = self.next_event()
        assert isinstance(event, FrameReceived)
        return event.frame

    def next_event(self) -> Event:
        while not self._events:
            try:
                data = self.plug.recv(65_536)
            except ConnectionResetError:
                data = b""
            if not data:
                raise ClosedByRelayError
            self._events += self.connection.receive_data(data)
            self.flush()
        return self._events.pop(0)

    def frames_until_closed(self) -> list[Frame]:
        found: list[Frame] = []
        while True:
            try:
                found.append(self.next())
            except ClosedByRelayError:
                return found

    def close(self) -> None:
        self.plug.close()


def session(
    relay: RunningRelay, kind: Kind, own: KeyPair | None = None, wire: str = "draft-1", receive_buffer: int = 0
) -> Session:
    """Connect and shake hands."""
    connection = Connection.initiator(load_profile(wire), kind, relay.address.relay_pub, own)
    opened = Session(tcp(relay, kind, receive_buffer), connection)
    opened.flush()
    opened.next_event()
    return opened
