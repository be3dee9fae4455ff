"""What the reference relay does as a program: pushes a second, and memory for an idle session. Figures, no budget."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.frames import Push
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import RelayAddress, parse

WIRE = "draft-1"
PUSHES = 1_000
ENVELOPE_BYTES = 1_000
IDLE_SESSIONS = 2_000
PATIENCE_SECONDS = 30
READ_BYTES = 65_536
FILES_BESIDE_SESSIONS = 256


def figures() -> Iterator[str]:
    """One line for each figure. Raises OSError if the relay does not start or goes away."""
    with tempfile.TemporaryDirectory() as folder, _relay(Path(folder)) as (process, address):
        for what, at_once in (("pipelined", PUSHES), ("one after the other", 1)):
            seconds = _pushing(address, at_once)
            yield f"the reference relay over TCP, pushes {what}: {PUSHES / seconds:.0f} a second, each on the disk"
        yield _idle(process.pid, address)


@contextmanager
def _relay(folder: Path) -> Iterator[tuple[subprocess.Popen[str], RelayAddress]]:
    command = [sys.executable, "-m", "reference_impl.relay", f"--data={folder / 'data'}", "--push-burst=1000000"]
    command += ["--receive=127.0.0.1:0", "--push=127.0.0.1:0", f"--max-connections={IDLE_SESSIONS}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603 - our own
    try:
        ready = process.stdout.readline() if process.stdout is not None else ""
        if not ready:
            raise OSError(f"the reference relay does not start: {(folder / 'log').read_text(encoding='utf-8')}")
        yield process, parse(ready.removeprefix("ready ").strip())
    finally:
        process.kill()
        process.communicate()


def _session(address: RelayAddress, kind: Kind, own: KeyPair | None = None) -> tuple[socket.socket, Connection]:
    port = address.receive_port if kind == "receive" else address.push_port
    plug = socket.create_connection((address.host, port), timeout=PATIENCE_SECONDS)
    connection = Connection.initiator(load_profile(WIRE), kind, address.relay_pub, own)
    plug.sendall(connection.data_to_send())
    while not connection.established:
        connection.receive_data(_read(plug))
    plug.sendall(connection.data_to_send())
    return plug, connection


def _read(plug: socket.socket) -> bytes:
    data = plug.recv(READ_BYTES)
    if not data:
        raise OSError("the reference relay closed a connection of the benchmark")
    return data


def _pushing(address: RelayAddress, at_once: int) -> float:
    """Seconds for all pushes on one Push Session, so many of them sent before their answers are awaited."""
    plug, connection = _session(address, "push")
    push = Push(KeyPair.generate().public, bytes(ENVELOPE_BYTES))
    begun = time.perf_counter()
    with plug:
        for _ in range(PUSHES // at_once):
            for _ in range(at_once):
                connection.send(push)
            plug.sendall(connection.data_to_send())
            answers = 0
            while answers < at_once:
                answers += len(connection.receive_data(_read(plug)))
    return time.perf_counter() - begun


def _idle(process_id: int, address: RelayAddress) -> str:
    _allow_files(IDLE_SESSIONS + FILES_BESIDE_SESSIONS)
    before = _resident_bytes(process_id)
    begun = time.perf_counter()
    with ExitStack() as open_ones:
        for _ in range(IDLE_SESSIONS):
            plug, _ = _session(address, "receive", KeyPair.generate())
            open_ones.enter_context(plug)
        seconds = time.perf_counter() - begun
        grown = _resident_bytes(process_id) - before
    each = f"{grown / IDLE_SESSIONS / 1024:.1f} KiB of memory each" if before else "memory is told on Linux only"
    return f"{IDLE_SESSIONS} idle Receive Sessions: {each}, opened at {IDLE_SESSIONS / seconds:.0f} a second"


def _resident_bytes(process_id: int) -> int:
    """What the process holds in memory, 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
