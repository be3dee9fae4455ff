"""A driver that is a program of its own: started without a shell, reached over its pipes, killed with SIGKILL."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from conformance.drivers.link import Silence
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.wire.json_types import Json, JsonObject

MAX_LINE = 16 * 1024 * 1024
STDERR_KEPT = 16 * 1024
READ_SIZE = 256 * 1024
WRITE_SECONDS = 10.0
GONE_SECONDS = 10.0
PR_SET_PDEATHSIG = 1
# Made once: json.dumps and json.loads would make them anew for each message.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_decode = json.JSONDecoder().decode


class ProcessLink:
    """Runs `command` in `folder`. Its process group ends with it, and on Linux also when this process is killed."""

    serves_many_cases = True

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = list(command)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._poll = select.poll()
        self._incoming = bytearray()
        self._searched = 0
        self._lines: list[bytes] = []
        self._stderr = bytearray()

    def start(self) -> None:
        self.kill()
        self._incoming.clear()
        self._searched = 0
        self._lines.clear()
        self._stderr.clear()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - an argument list from the manifest, never a shell
                self._command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
                preexec_fn=_die_with_parent(),  # noqa: PLW1509 - the kit starts no threads
            )
        except OSError as error:
            raise DriverError(
                f"the command {self._command[0]!r} cannot be started: {error.strerror or error}; "
                "give the path of an executable file in the manifest's `command`"
            ) from None
        except subprocess.SubprocessError as error:
            raise DriverError(f"the command {self._command[0]!r} cannot be started: {error}") from None
        for pipe in (self._stdin, self._stdout, self._errors):
            os.set_blocking(pipe.fileno(), False)
        self._poll = select.poll()
        self._poll.register(self._stdout.fileno(), select.POLLIN)
        self._poll.register(self._errors.fileno(), select.POLLIN)

    def send(self, message: JsonObject) -> None:
        data = memoryview(_encode(message).encode("ascii") + b"\n")
        deadline = time.monotonic() + WRITE_SECONDS
        while data:
            try:
                data = data[os.write(self._stdin.fileno(), data) :]
            except BlockingIOError:
                self._wait_until_writable(deadline)
            except BrokenPipeError:
                return  # it ended; `receive` gives its last lines first, and then says so

    def receive(self, seconds: float) -> Json:
        deadline = time.monotonic() + seconds
        while not self._lines:
            if not self._read(max(0.0, deadline - time.monotonic())):
                raise Silence
        return _parse(self._lines.pop(0))

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._drain_stderr(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        self._lines.clear()

    def stop(self) -> None:
        self.kill()

    def last_words(self) -> str:
        return self._stderr.decode("utf-8", "replace")

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

    def _read(self, seconds: float) -> bool:
        """Read what is there, waiting at most `seconds` for it. False if nothing came."""
        ready = self._poll.poll(seconds * 1000)
        if not ready:
            return False
        stdout = self._stdout.fileno()
        for descriptor, _ in ready:
            if descriptor == stdout:
                self._read_stdout(stdout)
            else:
                self._read_stderr(descriptor)
        return True

    def _read_stdout(self, descriptor: int) -> None:
        data = os.read(descriptor, READ_SIZE)
        if not data:
            raise DriverDiedError(self._how_it_ended())
        self._incoming += data
        end = self._incoming.rfind(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._incoming)
            if self._searched > MAX_LINE:
                raise DriverError(
                    f"the driver wrote more than {MAX_LINE // 1024 // 1024} MiB without a line end to stdout; "
                    "a message is one line of JSON"
                )
            return
        self._lines.extend(bytes(self._incoming[:end]).split(b"\n"))
        del self._incoming[: end + 1]
        self._searched = 0

    def _read_stderr(self, descriptor: int) -> None:
        data = os.read(descriptor, READ_SIZE)
        if not data:
            self._poll.unregister(descriptor)
        self._stderr += data
        del self._stderr[:-STDERR_KEPT]

    def _drain_stderr(self, process: subprocess.Popen[bytes]) -> None:
        if process.stderr is None:
            return
        with contextlib.suppress(BlockingIOError):
            while data := os.read(process.stderr.fileno(), READ_SIZE):
                self._stderr += data
                del self._stderr[:-STDERR_KEPT]

    def _wait_until_writable(self, deadline: float) -> None:
        """Wait for room in the driver's stdin, reading meanwhile: both sides could be writing at once."""
        writable = select.poll()
        writable.register(self._stdin.fileno(), select.POLLOUT)
        while not writable.poll(10):
            self._read(0)
            if time.monotonic() > deadline:
                raise DriverError(
                    f"the driver does not read its stdin: a message waited for {WRITE_SECONDS:.0f} s; "
                    "a driver must go on reading while it waits for answers"
                )

    def _how_it_ended(self) -> str:
        try:
            status = self._running.wait(GONE_SECONDS)
        except subprocess.TimeoutExpired:
            return "the driver closed its stdout and goes on running; stdout must stay open until stdin ends"
        if status < 0:
            return f"the driver was ended by signal {signal.Signals(-status).name}"
        return f"the driver exited with status {status}"


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise DriverDiedError("the driver has no such pipe")
    return pipe


def _parse(line: bytes) -> Json:
    try:
        message: Json = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError):
        shown = line[:120].decode("utf-8", "backslashreplace")
        raise DriverError(
            f"the driver wrote a line to stdout that is not JSON: {shown!r}; log to stderr instead"
        ) from None
    return message


def _die_with_parent() -> Callable[[], None] | None:
    """On Linux, ask the kernel to kill the driver if the kit itself is killed and cannot clean up."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    return set_death_signal
