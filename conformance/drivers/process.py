"""A driver that is a program of its own: started without a shell, reached over its pipes, killed with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from conformance.drivers.data_folder import private_folder
from conformance.drivers.json_lines import JsonLines, encode
from conformance.drivers.last_words import LastWords
from conformance.drivers.link import Silence
from conformance.drivers.process_group import GONE_SECONDS, how_it_ended, kill_group, spawn
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.wire.json_types import Json, JsonObject

READ_SIZE = 64 * 1024
PIPE_READS = 8
WRITE_SECONDS = 10.0
WATCH_SECONDS = 0.1
"""How often a silent driver is looked after: one that ended may leave its pipes open with a process of its own."""


class ProcessLink:
    """Runs `command` in `folder`. Its process group ends with it, and on Linux also when this process is killed.

    `write_seconds`: how long one message may wait for a driver that does not read.
    """

    serves_many_cases = True
    is_live = False

    def __init__(self, command: Sequence[str], folder: Path, write_seconds: float = WRITE_SECONDS) -> None:
        self._command = list(command)
        self._folder = folder
        self._write_seconds = write_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._poll = select.poll()
        self._into = self._out = -1
        self._lines = JsonLines()
        self._stderr = LastWords()
        self._stdout_ended = False
        self._stdin_closed = False

    def start(self) -> None:
        self.kill()
        self._forget()
        self._process = spawn(self._command, self._folder, stdin=True)
        self._into, self._out = self._stdin.fileno(), self._stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._errors.fileno(), select.POLLIN)

    def send(self, message: JsonObject) -> None:
        """Hand one message to the driver. To one that is gone nothing is said: what it wrote before is read first."""
        data = encode(message)
        deadline = 0.0
        while data and not (self._stdin_closed or self._stdout_ended):
            try:
                data = data[os.write(self._into, data) :]
            except BlockingIOError:
                deadline = deadline or time.monotonic() + self._write_seconds
                self._wait_until_writable(deadline)
            except BrokenPipeError:
                self._stdin_closed = True

    def receive(self, seconds: float) -> Json:
        if not self._lines:
            self._wait_for_line(time.monotonic() + seconds)
        return self._lines.take()

    def _wait_for_line(self, deadline: float) -> None:
        while not self._lines:
            if self._stdout_ended:
                raise self._end("stdout")
            self._read_or_notice_end(deadline)

    def has_more(self) -> bool:
        return bool(self._lines) or (self._process is not None and bool(self._poll.poll(0)))

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        kill_group(process)
        self._drain_stderr(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        self._lines.clear()

    def stop(self) -> None:
        self.kill()

    def outputs(self) -> Sequence[int]:
        """The descriptors on which it says something; empty while it does not run, or once it has closed them."""
        return () if self._process is None or self._stdout_ended else (self._out, self._errors.fileno())

    @contextlib.contextmanager
    def data_folder(self) -> Iterator[str]:
        with private_folder() as folder:
            yield str(folder)

    def last_words(self) -> str:
        return str(self._stderr)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise DriverDiedError("the driver is not running")
        return self._process

    @property
    def _stdin(self) -> IO[bytes]:
        return _pipe(self._running.stdin)

    @property
    def _stdout(self) -> IO[bytes]:
        return _pipe(self._running.stdout)

    @property
    def _errors(self) -> IO[bytes]:
        return _pipe(self._running.stderr)

    def _forget(self) -> None:
        self._lines.clear()
        self._stderr.forget()
        self._stdout_ended = self._stdin_closed = False

    def _read_or_notice_end(self, deadline: float) -> None:
        """Read what comes next. Raises Silence at the deadline, however much is written that is no message."""
        left = deadline - time.monotonic()
        came = self._read(max(0.0, min(left, WATCH_SECONDS)))
        if self._lines or (came and left > 0):
            return
        if self._running.poll() is not None:
            self._read(0)
            self._stdout_ended = True
        elif left <= 0:
            raise self._end("stdin") if self._is_deaf() else Silence

    def _is_deaf(self) -> bool:
        """Whether nobody holds the other end of the driver's stdin any more."""
        writer = select.poll()
        writer.register(self._stdin.fileno(), 0)
        return bool(writer.poll(0))

    def _read(self, seconds: float) -> bool:
        """Read what is there, waiting at most `seconds` for it. False if nothing came."""
        ready = self._poll.poll(seconds * 1000)
        if not ready:
            return False
        for descriptor, _ in ready:
            if descriptor == self._out:
                self._read_stdout(descriptor)
            else:
                self._read_stderr(descriptor)
        return True

    def _read_stdout(self, descriptor: int) -> None:
        data = os.read(descriptor, READ_SIZE)
        if not data:
            self._poll.unregister(descriptor)
            self._stdout_ended = True
        self._lines.feed(data)

    def _read_stderr(self, descriptor: int) -> None:
        data = os.read(descriptor, READ_SIZE)
        if not data:
            self._poll.unregister(descriptor)
        self._stderr.hear(data)

    def _drain_stderr(self, process: subprocess.Popen[bytes]) -> None:
        if process.stderr is None:
            return
        with contextlib.suppress(BlockingIOError):
            # At most what a pipe can hold: a process that escaped the group could go on writing for ever.
            for _ in range(PIPE_READS):
                self._stderr.hear(os.read(process.stderr.fileno(), READ_SIZE))

    def _wait_until_writable(self, deadline: float) -> None:
        """Wait for room in the driver's stdin, reading meanwhile: both sides could be writing at once."""
        writable = select.poll()
        writable.register(self._stdin.fileno(), select.POLLOUT)
        while not writable.poll(10):
            self._read(0)
            if self._stdout_ended:
                return
            self._lines.check_backlog()
            if time.monotonic() > deadline:
                raise DriverError(
                    f"the driver does not read its stdin: a message waited for {self._write_seconds:g} s; "
                    "a driver must go on reading while it waits for answers"
                )

    def _end(self, closed: str) -> DriverError:
        """How it ended; one that only closed a pipe has not ended, and is at fault."""
        try:
            status = self._running.wait(GONE_SECONDS)
        except subprocess.TimeoutExpired:
            return DriverError(
                f"the driver closed its {closed} and goes on running; keep both pipes open until stdin ends, then exit"
            )
        return DriverDiedError(f"the driver {how_it_ended(status)}")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise DriverDiedError("the driver has no such pipe")
    return pipe
