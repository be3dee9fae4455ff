"""A driver in a container: reached over its stdin and stdout, ended by `docker kill`, started again on its data."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from docker.models.containers import Container

from conformance.drivers import docker_engine
from conformance.drivers.attached import STDERR, STDOUT, AttachedOutput
from conformance.drivers.data_folder import PREFIX, private_folder
from conformance.drivers.docker_engine import DATA, Engine
from conformance.drivers.json_lines import JsonLines, encode
from conformance.drivers.last_words import LastWords
from conformance.drivers.link import Silence
from conformance.drivers.process_group import signal_name
from conformance.drivers.sandbox import MEBIBYTE, Sandbox
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.wire.json_types import Json, JsonObject

READ_SIZE = 64 * 1024
GONE_SECONDS = 5
"""How long the engine may take to say how a container ended whose output has ended."""
FIRST_SIGNAL_STATUS = 128
"""A program that a signal ended has this exit status and the signal's number."""


class ContainerLink:
    """One container for the life of this link: a kill ends it, a start starts it again. Stop removes it.

    The engine closes its stdin when the kit is gone, however it went, so that a driver that keeps the protocol ends.
    """

    serves_many_cases = True
    is_live = False

    def __init__(self, sandbox: Sandbox, write_seconds: float) -> None:
        self._sandbox = sandbox
        self._write_seconds = write_seconds
        self._engine: Engine | None = None
        self._container: Container | None = None
        self._folder: Path | None = None
        self._socket: socket.socket | None = None
        self._output = AttachedOutput()
        self._lines = JsonLines()
        self._stderr = LastWords()
        self._ended = False

    def start(self) -> None:
        self.kill()
        self._output = AttachedOutput()
        self._lines.clear()
        self._stderr.forget()
        self._ended = False
        container = self._container or self._create()
        self._socket = docker_engine.attach(container)
        docker_engine.start(container)

    def send(self, message: JsonObject) -> None:
        """Hand one message to the driver. To one that is gone nothing is said: what it wrote before is read first."""
        data = encode(message)
        deadline = time.monotonic() + self._write_seconds
        while data and not self._ended:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                self._wait_until_writable(deadline)
            except (BrokenPipeError, ConnectionResetError):
                return

    def receive(self, seconds: float) -> Json:
        deadline = time.monotonic() + seconds
        while not self._lines:
            if self._ended:
                raise self._end()
            left = deadline - time.monotonic()
            self._read(max(0.0, left))
            if left <= 0 and not self._lines and not self._ended:
                raise Silence
        return self._lines.take()

    def has_more(self) -> bool:
        return bool(self._lines) or self._ended or (self._socket is not None and self._is_readable(0))

    def kill(self) -> None:
        if self._socket is None or self._container is None:
            return
        docker_engine.kill(self._container)
        self._read_to_the_end(time.monotonic() + GONE_SECONDS)
        self._detach()
        self._lines.clear()

    def stop(self) -> None:
        with contextlib.suppress(DriverError):
            self._detach()
            if self._container is not None:
                docker_engine.remove(self._container)
        if self._engine is not None:
            self._engine.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._container = self._engine = self._folder = None

    @contextlib.contextmanager
    def data_folder(self) -> Iterator[str]:
        with private_folder(self._shared) as folder:
            yield f"{DATA}/{folder.name}"

    def last_words(self) -> str:
        return str(self._stderr)

    @property
    def _shared(self) -> Path:
        """The folder of the host that the container sees as DATA."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        return self._folder

    @property
    def _descriptor(self) -> int:
        if self._socket is None:
            raise DriverDiedError("the driver is not running")
        return self._socket.fileno()

    def _create(self) -> Container:
        self._engine = docker_engine.connect()
        self._engine.sweep()
        self._container = self._engine.create(self._sandbox, self._shared)
        return self._container

    def _detach(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _is_readable(self, seconds: float) -> bool:
        reader = select.poll()
        reader.register(self._descriptor, select.POLLIN)
        return bool(reader.poll(seconds * 1000))

    def _read(self, seconds: float) -> None:
        """Read what is there, waiting at most `seconds` for it."""
        if not self._is_readable(seconds):
            return
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except ConnectionResetError:
            data = b""
        self._ended = not data
        for stream, piece in self._output.feed(data):
            if stream == STDOUT:
                self._lines.feed(piece)
            elif stream == STDERR:
                self._stderr.hear(piece)

    def _read_to_the_end(self, deadline: float) -> None:
        """What it wrote to stderr before it was killed; its messages are nobody's any more."""
        while not self._ended and time.monotonic() < deadline:
            with contextlib.suppress(DriverError):
                self._read(max(0.0, deadline - time.monotonic()))
            self._lines.clear()

    def _wait_until_writable(self, deadline: float) -> None:
        """Wait for room in the driver's stdin, reading meanwhile: both sides could be writing at once."""
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN | select.POLLOUT)
        for _, event in ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if event & ~select.POLLOUT:
                self._read(0)
                self._lines.check_backlog()
        if time.monotonic() > deadline:
            raise DriverError(
                f"the driver does not read its stdin: a message waited for {self._write_seconds:g} s; "
                "a driver must go on reading while it waits for answers"
            )

    def _end(self) -> DriverError:
        """How it ended, as the engine tells it."""
        if self._container is None:
            return DriverDiedError("the driver is not running")
        ended = docker_engine.how_it_ended(self._container, GONE_SECONDS)
        if ended is None:
            return DriverError("the Docker engine let go of the driver's pipes while its container goes on running")
        status, out_of_memory = ended
        if out_of_memory:
            return DriverDiedError(
                f"the driver was ended because it used more than its {self._sandbox.memory // MEBIBYTE} MiB of memory "
                "(`memory` in the manifest sets how much it may)"
            )
        if status > FIRST_SIGNAL_STATUS:
            return DriverDiedError(f"the driver was ended by signal {signal_name(status - FIRST_SIGNAL_STATUS)}")
        return DriverDiedError(f"the driver exited with status {status}")
