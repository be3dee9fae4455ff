"""The Relay as a program: two listeners and a database around the core, on one asyncio loop.

A commit is on the disk when the store returns from it, and only then its Ack is written (RLY-001, RLY-002). A commit
holds up the loop for as long as the disk takes, which is what the sender waits for in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from reference_impl.relay.effects import Deliver, Effect, PushAnswered, Refusal, SessionClosed
from reference_impl.relay.event_log import log
from reference_impl.relay.health import Health
from reference_impl.relay.key_file import KeyFileError, load_or_make
from reference_impl.relay.options import Endpoint, Options, read_options
from reference_impl.relay.relay import Relay
from reference_impl.relay.settings import SettingRefusedError
from reference_impl.relay.store import SqliteStore, StoreFailedError
from reference_impl.relay.wire_session import WireSession
from reference_impl.wire.connection import Kind
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import RelayAddress

DATABASE = "relay.sqlite3"
BACKLOG = 1024
FILES_BESIDE_CONNECTIONS = 64
STORE_REFUSALS = (Refusal.UNAVAILABLE, Refusal.INTERNAL_ERROR)


class RelayProgram:
    """One running Relay. Its parts are attributes, so that a deviation is a small subclass."""

    relay_class: type[Relay] = Relay
    session_class: type[WireSession] = WireSession

    def __init__(self, options: Options, relay_key: KeyPair) -> None:
        """Raises SettingRefusedError and StoreFailedError."""
        self.options = options
        self.deadlines = options.deadlines
        self.profile = load_profile(options.wire)
        self.relay_key = relay_key
        self._started_at = time.time_ns() // 1_000_000
        self._monotonic_start = time.monotonic_ns() // 1_000_000
        self._check_deadlines()
        self._store = self.open_store(options.data)
        try:
            self.relay = self.relay_class(self._store, options.settings, self.now())
        except BaseException:
            self._store.close()
            raise
        self.sessions: dict[str, WireSession] = {}
        self.counts: dict[Kind, int] = {"receive": 0, "push": 0}
        self._listeners: list[asyncio.Server] = []
        self._stopping = asyncio.Event()
        self.emptied = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def open_store(self, data: Path) -> SqliteStore:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SqliteStore(data / DATABASE)

    def now(self) -> int:
        """Milliseconds since the Unix epoch, never going back: the wall clock is read once, at the start."""
        return self._started_at + time.monotonic_ns() // 1_000_000 - self._monotonic_start

    def _check_deadlines(self) -> None:
        for name in ("handshake_deadline", "push_session_deadline", "idle_close", "max_connections"):
            if getattr(self.deadlines, name) < 1:
                raise SettingRefusedError(name, "is 0, give at least 1")

    # -- life

    async def run(self) -> None:
        """Serve until `stop`, then drain. Raises OSError if it cannot listen."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_log_defect)
        _allow_files(2 * self.deadlines.max_connections + FILES_BESIDE_CONNECTIONS)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            address = await self._listen()
            log("listening")
            # The address is for whoever started the program; the log must not have it.
            sys.stdout.write(f"ready {address}\n")
            sys.stdout.flush()
            self._watch_clock()
            await self._stopping.wait()
            await self.drain()
        finally:
            self.close_listeners()
            self._store.close()
            log("stopped")

    def stop(self) -> None:
        self._stopping.set()

    async def _listen(self) -> RelayAddress:
        loop = asyncio.get_running_loop()
        ports: dict[str, int] = {}
        places: Mapping[Kind, Endpoint] = {"receive": self.options.receive, "push": self.options.push}
        for kind, place in places.items():
            make_session = partial(self.session_class, self, kind)
            server = await loop.create_server(make_session, place.host, place.port, backlog=BACKLOG)
            self._listeners.append(server)
            ports[kind] = server.sockets[0].getsockname()[1]
        if self.options.health is not None:
            health = self.options.health
            self._listeners.append(await loop.create_server(partial(Health, self.is_healthy), health.host, health.port))
        return RelayAddress(self.relay_key.public, self.options.receive.host, ports["receive"], ports["push"])

    async def drain(self) -> None:
        """RLY-026: no new connections; what was taken has been answered, and what is written is still sent."""
        log("stopping")
        self.close_listeners()
        await self.answer_received()
        for session in list(self.sessions.values()):
            session.end("shutdown")
        await self.until_emptied(self.deadlines.shutdown_drain / 1000)
        for session in list(self.sessions.values()):
            session.cut()

    def close_listeners(self) -> None:
        for server in self._listeners:
            server.close()

    async def until_emptied(self, seconds: float) -> None:
        """Wait until every session is gone, at most so long."""
        if self.sessions:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.emptied.wait(), seconds)

    async def answer_received(self) -> None:
        """Let the loop read once more what its sockets hold already: resumed before that reading, and then after it."""
        for _ in range(2):
            await asyncio.sleep(0)

    # -- time

    def _watch_clock(self) -> None:
        """Have one timer for what is due next: everything that comes later is due later (RLY-014)."""
        due = self._next_timer()
        if due is not None:
            delay = max(0, due - self.now()) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay, self._time_passed)

    def _time_passed(self) -> None:
        self._timer = None
        self.carry_out(self.relay.advance(self.now()))
        self._watch_clock()

    def _next_timer(self) -> int | None:
        try:
            return self.relay.next_timer()
        except StoreFailedError:
            log("store_failed")
            return self.now() + 60_000

    def is_healthy(self) -> bool:
        """Whether the store can be read."""
        try:
            self.relay.next_timer()
        except StoreFailedError:
            return False
        return True

    # -- sessions

    def admit(self, session: WireSession) -> bool:
        if not self.has_room(session):
            return False
        self.counts[session.kind] += 1
        self.sessions[session.name] = session
        self.emptied.clear()
        return True

    def has_room(self, session: WireSession) -> bool:
        """Each listener has its own bound (RLY-027)."""
        return self.counts[session.kind] < self.deadlines.max_connections

    def device_of(self, session: WireSession) -> bytes | None:
        """Whose Inbox a Receive Session opens: that of the key which its handshake proved (RLY-028)."""
        return session.connection.remote_pub

    def established(self, session: WireSession) -> None:
        device = self.device_of(session)
        if session.kind == "push":
            self.carry_out(self.relay.open_push_session(session.name))
        elif device is not None:
            self.carry_out(self.relay.open_receive_session(session.name, device, self.now()))

    def pushed(self, session: WireSession, body: bytes) -> None:
        self.carry_out(self.relay.push(session.name, 0, body, self.now()))
        if self._timer is None:
            self._watch_clock()

    def acked(self, session: WireSession, blob_id: int) -> None:
        self.carry_out(self.relay.deliver_ack(session.name, blob_id))

    def envelope(self, session: WireSession, blob_id: int) -> bytes | None:  # noqa: ARG002 - ids are the relay's own
        try:
            blob = self.relay.inboxes.find(blob_id)
        except StoreFailedError:
            log("store_failed")
            return None
        if blob is None or not self.relay.inboxes.is_deliverable(blob, self.now()):
            return None
        return blob.envelope

    def gone(self, session: WireSession) -> None:
        self.counts[session.kind] -= 1
        del self.sessions[session.name]
        close = self.relay.close_push_session if session.kind == "push" else self.relay.close_receive_session
        self.carry_out(close(session.name))
        if not self.sessions:
            self.emptied.set()

    def carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            session = self.sessions.get(effect.session)
            if session is None:
                continue
            match effect:
                case PushAnswered(refusal=refusal):
                    if refusal in STORE_REFUSALS:
                        log("store_failed")
                    session.answer(refusal.value if refusal else None)
                case Deliver(blob_id=blob_id, envelope=envelope):
                    session.deliver(blob_id, envelope)
                case SessionClosed():
                    session.end("ended_by_relay")


def main(
    arguments: Sequence[str], environment: Mapping[str, str], program_class: type[RelayProgram] = RelayProgram
) -> int:
    """Run a relay until it is told to stop. Returns the exit status: 2 for a refused setting, 1 for a failure."""
    options = read_options(arguments, environment)
    try:
        asyncio.run(_run(program_class, options))
    except SettingRefusedError as refused:
        log("refused", setting=refused.setting)
        sys.stderr.write(f"{refused}\n")
        return 2
    except (KeyFileError, StoreFailedError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(
            f"The relay cannot listen: {error.strerror or error}; give other --receive, --push or --health.\n"
        )
        return 1
    except KeyboardInterrupt:  # before there was anything to stop
        return 0
    return 0


def _allow_files(wanted: int) -> None:
    """Each connection is an open file; where the system allows fewer, what it allows must do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _log_defect(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """A defect ends its connection only; asyncio's own words would name the peer."""
    log("defect", reason=type(context.get("exception")).__name__)


async def _run(program_class: type[RelayProgram], options: Options) -> None:
    log("starting")
    await program_class(options, load_or_make(options.key)).run()
