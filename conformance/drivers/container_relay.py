"""A relay in a container: its ports published on loopback only, its data in a folder that outlives it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from docker.models.containers import Container

from conformance.drivers import docker_engine
from conformance.drivers.attached import AttachedOutput
from conformance.drivers.command_relay import READ_SIZE, CommandRelay
from conformance.drivers.data_folder import private_folder
from conformance.drivers.docker_engine import DATA, Engine
from conformance.drivers.process_group import how_it_ended
from conformance.drivers.relay_manifest import RelayManifest, Words
from conformance.drivers.sandbox import Sandbox
from conformance.outcome import DriverDiedError, DriverError
from reference_impl.wire.relay_address import RelayAddress

GONE_SECONDS = 5
"""How long the engine may take to say how a container ended whose output has ended."""


class ContainerRelay(CommandRelay):
    """One container for each start, since its ports are those of the start. A kill removes it; its data stays."""

    def __init__(self, manifest: RelayManifest, sandbox: Sandbox, start_seconds: float) -> None:
        super().__init__(manifest, Path(), start_seconds)
        self._sandbox = sandbox
        self._engine: Engine | None = None
        self._container: Container | None = None
        self._socket: socket.socket | None = None
        self._output = AttachedOutput()
        self._ports: Sequence[int] = ()
        self._host_folder = Path()
        self._was_swept = False

    def kill(self) -> None:
        attached, self._socket = self._socket, None
        container, self._container = self._container, None
        engine, self._engine = self._engine, None
        if attached is not None:
            with contextlib.suppress(OSError, DriverError):
                while data := os.read(attached.fileno(), READ_SIZE):
                    self._take(data)
            attached.close()
        if container is not None:
            docker_engine.remove(container)
        if engine is not None:
            engine.close()

    def ask_to_end(self) -> None:
        if self._container is None:
            raise DriverDiedError("the relay is not running")
        docker_engine.signal(self._container, self._manifest.stop)

    def ending(self) -> str:
        if self._container is None or self._socket is None or self._socket.fileno() not in self._ended:
            return ""
        ended = docker_engine.how_it_ended(self._container, GONE_SECONDS)
        if ended is None:
            return "closed its output and goes on running"
        status, out_of_memory = ended
        return "was ended because it used more memory than it may" if out_of_memory else how_it_ended(status)

    def outputs(self) -> Sequence[int]:
        if self._socket is None or self._socket.fileno() in self._ended:
            return ()
        return [self._socket.fileno()]

    def hear(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, READ_SIZE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._ended.add(descriptor)
        self._take(data)

    @contextlib.contextmanager
    def data_folder(self) -> Iterator[str]:
        with private_folder() as folder:
            self._host_folder = folder
            try:
                yield DATA
            finally:
                self._key_in.pop(DATA, None)

    # -- inside -------------------------------------------------------------------------------------------------

    def _start_on(self, ports: Sequence[int], settings: Mapping[str, int], folder: str) -> RelayAddress:
        self._ports = ports
        return super()._start_on(ports, settings, folder)

    def _launch(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.kill()
        self._ended.clear()
        self._words.forget()
        self._output = AttachedOutput()
        engine = self._engine = docker_engine.connect()
        if not self._was_swept:
            engine.sweep()
            self._was_swept = True
        sandbox = replace(self._sandbox, command=tuple(command))
        self._container = engine.create(sandbox, self._host_folder, ports=self._ports, environment=environment)
        self._socket = docker_engine.attach(self._container)
        docker_engine.start(self._container)

    def _seen_here(self, words: Words) -> Words:
        return {**words, "data": str(self._host_folder)}

    def _take(self, data: bytes) -> None:
        for _, piece in self._output.feed(data):
            self._words.hear(piece)
