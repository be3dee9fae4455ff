"""A relay that is a command: started without a shell on free ports, waited for, killed with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.drivers.data_folder import private_folder
from conformance.drivers.last_words import LastWords
from conformance.drivers.process_group import how_it_ended, kill_group, spawn
from conformance.drivers.relay_manifest import RelayManifest, Words, filled
from conformance.drivers.relay_ports import LOOPBACK, free_ports, is_free
from conformance.drivers.relay_program import EndedAtStartError
from conformance.drivers.relay_readiness import accepts, answers_ok
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.wire.relay_address import RelayAddress

READ_SIZE = 64 * 1024
PIPE_READS = 8
LISTEN_SECONDS = 0.02
"""How long a program is listened to between two questions whether it is ready."""
PORT_TRIES = 5
MAX_KEY_FILE = 4096
KEY = re.compile(r"[0-9a-f]{64}")


class CommandRelay:
    """Runs the command of a manifest in `folder`, and lets it be ready within `start_seconds`."""

    is_live = False

    def __init__(self, manifest: RelayManifest, folder: Path, start_seconds: float) -> None:
        self._manifest = manifest
        self._folder = folder
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._ended: set[int] = set()
        self._words = LastWords()
        self._key_in: dict[str, str] = {}

    def start(self, settings: Mapping[str, int], folder: str) -> RelayAddress:
        for _ in range(PORT_TRIES):
            ports = free_ports(3)
            try:
                return self._start_on(ports, settings, folder)
            except EndedAtStartError:
                if all(is_free(port) for port in ports):
                    raise
        raise DriverError(f"the ports of the relay were taken by somebody else {PORT_TRIES} times in a row; try again")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        kill_group(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                # At most what a pipe can hold: a process that escaped the group could go on writing for ever.
                self._hear_rest(pipe.fileno())
                pipe.close()

    def ask_to_end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._running.send_signal(signal.Signals[self._manifest.stop])

    def ending(self) -> str:
        status = None if self._process is None else self._process.poll()
        return "" if status is None else how_it_ended(status)

    def outputs(self) -> Sequence[int]:
        if self._process is None:
            return ()
        pipes = (self._process.stdout, self._process.stderr)
        return [pipe.fileno() for pipe in pipes if pipe is not None and pipe.fileno() not in self._ended]

    def hear(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._ended.add(descriptor)
        self._words.hear(data)

    @contextlib.contextmanager
    def data_folder(self) -> Iterator[str]:
        with private_folder() as folder:
            try:
                yield str(folder)
            finally:
                self._key_in.pop(str(folder), None)

    def last_words(self) -> str:
        return str(self._words)

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise DriverDiedError("the relay is not running")
        return self._process

    def _start_on(self, ports: Sequence[int], settings: Mapping[str, int], folder: str) -> RelayAddress:
        receive, push, health = ports
        words = {
            "python": sys.executable,
            "data": folder,
            "receive_port": str(receive),
            "push_port": str(push),
            "health_port": str(health),
        }
        deadline = time.monotonic() + self._start_seconds
        command = self._manifest.arguments(words, settings)
        environment = self._manifest.variables(words, settings)
        self._make_key(words, environment, deadline)
        self._launch(command, environment)
        try:
            self._await_ready(words, deadline)
            key = self._key(words)
        except (EndedAtStartError, DriverError, KeyboardInterrupt):
            self.kill()
            raise
        return RelayAddress(bytes.fromhex(key), LOOPBACK, receive, push)

    def _launch(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.kill()
        self._ended.clear()
        self._words.forget()
        self._process = spawn(command, self._folder, stdin=False, environment=environment)

    def _await_ready(self, words: Words, deadline: float) -> None:
        while not self._is_ready(words):
            ending = self.ending()
            if ending:
                raise EndedAtStartError(ending)
            if time.monotonic() >= deadline:
                raise DriverError(
                    f"the relay was not ready within {self._start_seconds:g} s: {self._what_is_missing(words)}; "
                    "mend `ready` in the manifest, or raise `timeouts.start`"
                )
            self._listen(LISTEN_SECONDS)
        if self.ending():
            raise EndedAtStartError(self.ending())

    def _is_ready(self, words: Words) -> bool:
        ready = self._manifest.ready
        if ready.line is not None:
            return ready.line.search(self.last_words()) is not None
        if ready.http:
            return answers_ok(filled(ready.http, words))
        return accepts(int(words["receive_port"])) and accepts(int(words["push_port"]))

    def _what_is_missing(self, words: Words) -> str:
        ready = self._manifest.ready
        if ready.line is not None:
            return f"nothing that it printed matches {ready.line.pattern!r}"
        if ready.http:
            return f"{filled(ready.http, words)} does not answer with 200"
        return f"it does not listen on both ports, {words['receive_port']} and {words['push_port']} of {LOOPBACK}"

    def _listen(self, seconds: float) -> None:
        """Hear what it prints for at most that long."""
        poll = select.poll()
        for descriptor in self.outputs():
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(seconds * 1000):
            self.hear(descriptor)

    def _hear_rest(self, descriptor: int) -> None:
        with contextlib.suppress(OSError):
            for _ in range(PIPE_READS):
                self._words.hear(os.read(descriptor, READ_SIZE))

    # -- the relay's key ----------------------------------------------------------------------------------------

    def _seen_here(self, words: Words) -> Words:
        """The words as the kit must read them, where the relay sees another path than the kit."""
        return words

    def _make_key(self, words: Words, environment: Mapping[str, str], deadline: float) -> None:
        """Run the command that makes the key, once for each data folder."""
        key = self._manifest.relay_key
        if not key.command or words["data"] in self._key_in:
            return
        self._launch([filled(part, words) for part in key.command], environment)
        while not self.ending() or self.outputs():
            if time.monotonic() >= deadline:
                self.kill()
                raise DriverError(f"the `relay_key.command` did not end within {self._start_seconds:g} s")
            self._listen(LISTEN_SECONDS)
        status = self._running.returncode
        printed = self.last_words()
        self.kill()
        if status != 0:
            raise DriverError(
                f"the `relay_key.command` {how_it_ended(status)}; it must make a key and exit with status 0"
            )
        self._key_in[words["data"]] = printed

    def _key(self, words: Words) -> str:
        key = self._manifest.relay_key
        if key.hex:
            return key.hex
        if key.line is not None:
            printed = self._key_in.get(words["data"], "") if key.command else self.last_words()
            match = key.line.search(printed)
            return _checked(match[1] if match else "", f"nothing printed matches {key.line.pattern!r}")
        path = filled(key.file, self._seen_here(words))
        try:
            with open(path, "rb") as file:
                text = file.read(MAX_KEY_FILE).decode("utf-8", "replace")
        except OSError as error:
            raise DriverError(
                f"the relay's public key cannot be read from {path}: {error.strerror}; mend `relay_key` in the manifest"
            ) from None
        return _checked(text.strip(), f"{path} does not hold it")


def _checked(text: str, otherwise: str) -> str:
    if KEY.fullmatch(text.lower()) is None:
        raise DriverError(
            f"the relay's public key, 64 hex digits, was not found: {otherwise}; mend `relay_key` in the manifest"
        )
    return text.lower()
