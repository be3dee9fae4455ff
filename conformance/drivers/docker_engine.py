"""The Docker engine of this machine: containers that may do little, are labelled, and are removed.

Every failure is a DriverError in one sentence: no engine, no permission, no such image, a program that does not start.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from docker.models.containers import Container
from docker.types import LogConfig, Mount
from requests.exceptions import RequestException

from conformance.drivers.data_folder import PREFIX
from conformance.drivers.relay_ports import LOOPBACK
from conformance.drivers.run_labels import FOLDER, RUN, is_left_over, labels
from conformance.drivers.sandbox import MEBIBYTE, Sandbox
from conformance.outcome import DriverError

DATA = "/data"
"""Where a container finds the folder that outlives it."""
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
ANSWER_SECONDS = 60
STOPPED = "the Docker engine stopped answering"


class Engine:
    """A connection to the engine. `user` is who a container runs as, so that both sides may write the data folder."""

    def __init__(self, client: docker.DockerClient, user: str) -> None:
        self._client = client
        self._user = user

    def create(
        self, sandbox: Sandbox, data: Path, *, ports: Sequence[int] = (), environment: Mapping[str, str] | None = None
    ) -> Container:
        """A container that is not started yet, with a name of its own and `data` at DATA.

        It has no network, unless it is to be reached at `ports`: those are published under the same numbers, on
        loopback.
        """
        with _told(STOPPED):
            try:
                self._client.images.get(sandbox.image)
            except ImageNotFound:
                raise DriverError(
                    f"the Docker engine has no image {sandbox.image!r}; build it, or fetch it with "
                    f"`docker pull {sandbox.image}`: the kit downloads nothing by itself"
                ) from None
        with _told(f"the image {sandbox.image!r} cannot be made a container"):
            return self._client.containers.create(
                sandbox.image,
                list(sandbox.command) or None,
                name=f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}",
                labels=labels(data),
                user=self._user,
                init=True,  # a program that is no init has no signals, and its children nobody to wait for them
                stdin_open=True,
                network_mode="bridge" if ports else "none",
                ports={f"{port}/tcp": (LOOPBACK, port) for port in ports},
                read_only=not sandbox.writable,
                tmpfs={"/tmp": f"size={64 * MEBIBYTE},mode=1777"},  # noqa: S108 - the container's, empty at each start
                environment={"HOME": "/tmp", **(environment or {})},  # noqa: S108 - its user may have no home there
                mounts=[Mount(DATA, str(data), type="bind")],
                mem_limit=sandbox.memory,
                memswap_limit=sandbox.memory,
                pids_limit=sandbox.pids,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                log_config=LogConfig(type=LogConfig.types.NONE),  # the kit is attached, and keeps what it needs
            )

    def sweep(self) -> None:
        """Remove what runs of this machine left that were killed and could not."""
        with _told(STOPPED):
            found = self._client.containers.list(all=True, filters={"label": RUN}, ignore_removed=True)
            for container in found:
                if is_left_over(container.labels):
                    remove(container)
                    _remove_folder(container.labels)

    def close(self) -> None:
        self._client.close()


def connect() -> Engine:
    """The engine at DOCKER_HOST, or where the `docker` command finds it. Raises DriverError."""
    where = os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET
    path = where.removeprefix("unix://")
    if path == where:
        raise DriverError(
            f"the Docker engine must run on this machine, for it shares a data folder with the kit, and DOCKER_HOST is "
            f"{where}; let it name a socket, such as {DEFAULT_SOCKET}"
        )
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
    except OSError as error:
        raise DriverError(no_engine(where, error)) from None
    with _told(f"the Docker engine at {where} cannot be used"):
        client = docker.DockerClient(base_url=where, timeout=ANSWER_SECONDS)
        options: object = client.info().get("SecurityOptions")
    rootless = isinstance(options, list) and "name=rootless" in options
    return Engine(client, "0:0" if rootless else f"{os.getuid()}:{os.getgid()}")


def attach(container: Container) -> socket.socket:
    """Its stdin, stdout and stderr as one socket that does not block. Before the start, so that nothing is missed."""
    with _told(STOPPED):
        attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        if not isinstance(attached, socket.SocketIO):
            raise DriverError(f"the Docker engine gives no socket to attach to, but a {type(attached).__name__}")
        own = socket.socket(fileno=os.dup(attached.fileno()))
        vars(attached)["_response"].close()  # the only way to close the socket that the package holds
    own.setblocking(False)
    return own


def start(container: Container) -> None:
    """Start it, anew if it ran before."""
    with _told(f"the container of image {_image(container)!r} cannot be started"):
        container.start()


def kill(container: Container) -> None:
    """SIGKILL to all that runs in it. Returns when it has ended."""
    with _told(STOPPED), contextlib.suppress(APIError):  # it has ended already
        container.kill()


def signal(container: Container, name: str) -> None:
    """Send a signal to the program in it; to one that has ended already nothing."""
    with _told(STOPPED), contextlib.suppress(APIError):
        container.kill(signal=name)


def remove(container: Container) -> None:
    """Kill and remove it; not to be found is as good."""
    with _told(STOPPED), contextlib.suppress(APIError):
        container.remove(force=True, v=True)


def how_it_ended(container: Container, seconds: int) -> tuple[int, bool] | None:
    """Exit status, and whether its memory was used up. None if it goes on running for so long."""
    with _told(STOPPED):
        try:
            status = container.wait(timeout=seconds)["StatusCode"]
        except RequestException:
            return None
        container.reload()
    state: object = container.attrs["State"]
    return status, isinstance(state, Mapping) and bool(state.get("OOMKilled"))


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Say in a sentence what the engine refused."""
    try:
        yield
    except APIError as error:
        raise DriverError(f"{what}: {_explanation(error)}") from None
    except (DockerException, RequestException, OSError) as error:
        raise DriverError(f"{what}: {error}; is it still running?") from None


def _explanation(error: APIError) -> str:
    said = error.explanation
    return str(said.decode("utf-8", "replace") if isinstance(said, bytes) else said or error).strip()


def no_engine(where: str, error: OSError) -> str:
    """Why the socket of the engine does not answer, and what to do."""
    if isinstance(error, PermissionError):
        return (
            f"the Docker engine at {where} may not be used by this user; run the kit in the group `docker`, "
            "or name another engine in DOCKER_HOST"
        )
    return (
        f"no Docker engine answers at {where} ({error.strerror or error}); start one, or name its socket in "
        "DOCKER_HOST (`docker context inspect` shows it)"
    )


def _image(container: Container) -> str:
    config: object = container.attrs.get("Config")
    return str(config.get("Image")) if isinstance(config, Mapping) else "?"


def _remove_folder(found: Mapping[str, str]) -> None:
    """Only a folder that this kit makes: labels are anybody's to write."""
    folder = Path(found.get(FOLDER, ""))
    is_ours = folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith(PREFIX)
    if is_ours and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
