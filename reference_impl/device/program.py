"""A Device as a program: `python -m reference_impl.device --data FOLDER --relay ADDRESS`.

Commands come on stdin, a line each; what happens leaves on stdout as JSON, a line each. Everything durable is in the
folder: kill it at any moment and start it again. A message counts as handled once its line is
written; killed right then, it says it again.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from reference_impl.device import effects as fx
from reference_impl.device.device import Device
from reference_impl.device.errors import ApiError
from reference_impl.device.sqlite_store import SqliteStore
from reference_impl.device.wire_sessions import BlobCame, Happened, PushAnswered, SessionAnswered, WireSessions
from reference_impl.wire.errors import RelayAddressError
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.key_ring import KeyRing, noise_key
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import RelayAddress, parse
from reference_impl.wire.sealed import SealedCodec, to_bytes, to_text

DATABASE = "device.sqlite3"
READ_SIZE = 64 * 1024
HEARTBEAT_SECONDS = 25.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Between two tries to reach a relay, in seconds: doubled each time."""


class DeviceProgram:
    """One device and its relay, on one poll loop. `say` gets each line, as the object that it is."""

    def __init__(self, data: Path, relay: RelayAddress, wire: str, say: Callable[[JsonObject], None]) -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._say = say
        self._store = SqliteStore(data / DATABASE)
        self._device = Device(self._store, SealedCodec(KeyRing()), os.urandom, _now())
        self._sessions = WireSessions(relay, load_profile(wire))
        self._connect_at: float | None = 0.0
        self._pause = FIRST_PAUSE
        self._heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
        self._running = True
        self._commands: Mapping[str, Callable[[str], JsonObject]] = {
            "send": lambda text: {"sent": self._device.send(text.encode("utf-8"))},
            "pair": lambda _: {"pairing_token": self._device.start_pairing()},
            "join": lambda token: _done(partial(self._device.join, token)),
            "accept": lambda request: _done(partial(self._device.accept, request)),
            "remove": lambda member: _done(partial(self._device.remove, member)),
            "leave": lambda _: _done(self._device.leave),
            "status": lambda _: {"status": asdict(self._device.status())},
            "quit": lambda _: self._stop(),
        }

    def run(self, descriptor: int) -> None:
        """Serve the commands that come on this descriptor, until it ends or one of them is `quit`."""
        self._device.on_event()
        self._device.on_delivery_issue()
        self._device.on_message()
        unread = b""
        try:
            while self._running:
                self._pass_time()
                if not self._wait(descriptor):
                    continue
                data = os.read(descriptor, READ_SIZE)
                if not data:
                    break
                *lines, unread = (unread + data).split(b"\n")
                for line in lines:
                    self._command(line.decode("utf-8", "replace").strip())
        finally:
            self._sessions.close()
            self._store.close()

    # -- the app

    def _command(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not word or not self._running:
            return
        command = self._commands.get(word)
        if command is None:
            self._say({"error": f"no command {word!r}; there are {', '.join(self._commands)}"})
            return
        try:
            self._say(command(rest))
        except ApiError as error:
            self._say({"error": error.case, **error.extras})
        self._carry_out()

    def _stop(self) -> JsonObject:
        self._device.close()
        self._running = False
        return {"done": True}

    # -- time

    def _wait(self, descriptor: int) -> bool:
        """Until something is to be done. Whether a command can be read."""
        poll = select.poll()
        for each in (descriptor, *self._sessions.filenos()):
            poll.register(each, select.POLLIN)
        ready = dict(poll.poll(self._seconds_left() * 1000))
        for happened in self._sessions.wait(0):
            self._take(happened)
            self._carry_out()
        return descriptor in ready

    def _seconds_left(self) -> float:
        timer = self._device.next_timer()
        due = [self._heartbeat_at - time.monotonic()]
        if self._connect_at is not None:
            due.append(self._connect_at - time.monotonic())
        if timer is not None:
            due.append((timer - _now()) / 1000)
        return max(0.0, min(due))

    def _pass_time(self) -> None:
        self._device.advance(_now())
        if time.monotonic() >= self._heartbeat_at:
            self._heartbeat_at += HEARTBEAT_SECONDS
            self._sessions.heartbeat()
        if self._connect_at is not None and time.monotonic() >= self._connect_at:
            self._connect_at = None
            self._device.relay_connected()
        self._carry_out()

    def _lose_the_relay(self) -> None:
        if self._connect_at is None:
            self._sessions.close()
            self._device.relay_disconnected()
            self._connect_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    # -- the relay

    def _take(self, happened: Happened) -> None:
        match happened:
            case SessionAnswered(request, answer):
                self._device.session_answered(request, answer)
                if isinstance(answer, fx.Opened):
                    self._pause = FIRST_PAUSE
                elif isinstance(answer, fx.Lost):
                    self._lose_the_relay()
            case PushAnswered(request, answer):
                self._device.push_answered(request, answer)
            case BlobCame(session, blob_id, envelope):
                self._device.blob_delivered(session, blob_id, to_text(envelope))
            case _:
                self._lose_the_relay()

    def _carry_out(self) -> None:
        """Everything that the device wants done, and what follows from it."""
        while effects := self._device.take_effects():
            for effect in effects:
                self._do(effect)

    def _do(self, effect: fx.Effect) -> None:
        match effect:
            case fx.OpenReceiveSession(request, _, version):
                own = noise_key(self._device.state.identity.noise_private)
                self._sessions.open_receive_session(request, own, version)
            case fx.Push(request, recipient, envelope, version):
                self._sessions.push(request, recipient, to_bytes(envelope), version)
            case fx.DeliverAck(session, blob_id):
                self._sessions.deliver_ack(session, blob_id)
            case fx.CallHandler(request, message):
                body = message.body.decode("utf-8", "replace")
                self._say({"message": message.id, "from": message.sender.name, "body": body})
                self._device.handler_ended(request, None)
            case fx.NotifyIssue(issue):
                self._say({"issue": type(issue).__name__, **asdict(issue)})
            case fx.NotifyEvent(event):
                self._say({"event": type(event).__name__, **asdict(event)})


def main(arguments: Sequence[str]) -> int:
    """Run a device until stdin ends. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m reference_impl.device", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of what the device keeps")
    parser.add_argument("--relay", type=_address, required=True, help="the Relay Address: trueseal://KEY@HOST…")
    parser.add_argument("--wire", default="draft-1", help="the wire profile; default: draft-1")
    given = parser.parse_args(arguments)
    try:
        DeviceProgram(given.data, given.relay, given.wire, _print).run(sys.stdin.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _address(text: str) -> RelayAddress:
    try:
        return parse(text)
    except RelayAddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _print(line: JsonObject) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _done(call: Callable[[], None]) -> JsonObject:
    call()
    return {"done": True}


def _now() -> int:
    return time.time_ns() // 1_000_000
