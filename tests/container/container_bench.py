"""What the tests with real containers share: the reference's image, and what the kit left with the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import docker
from docker.models.containers import Container

from conformance.drivers.container import ContainerLink
from conformance.drivers.run_labels import RUN
from conformance.drivers.sandbox import MEBIBYTE, Sandbox

IMAGE = "trueseal-conformance-reference"
PYTHON = ("python3", "-S", "-u", "-c")


@contextmanager
def running(program: str, *, memory: int = 128 * MEBIBYTE) -> Iterator[ContainerLink]:
    """A container in which this Python program has been started."""
    link = ContainerLink(Sandbox(IMAGE, (*PYTHON, program), memory=memory, pids=32), write_seconds=2)
    try:
        link.start()
        yield link
    finally:
        link.stop()


def left_over(run: str = "") -> list[Container]:
    """Containers of the kit, or of one of its runs."""
    client = docker.from_env()
    try:
        wanted = f"{RUN}={run}" if run else RUN
        return client.containers.list(all=True, filters={"label": wanted}, ignore_removed=True)
    finally:
        client.close()
