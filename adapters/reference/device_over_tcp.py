"""`python -m adapters.reference.device_over_tcp`: the reference Device as a driver with `link: tcp`.

The API and the clock are the kit's, over stdio; the relay is reached on its sockets.
"""

from __future__ import annotations

import json
import os
import select
import sys

from adapters.reference.device_driver import DeviceDriver
from adapters.reference.disk import FolderDisk
from adapters.reference.jsonrpc import Params, text
from adapters.stdio import answers
from reference_impl.device.effects import DeliverAck, Effect, OpenReceiveSession, Push
from reference_impl.device.sqlite_store import SqliteStore
from reference_impl.device.wire_sessions import BlobCame, Happened, PushAnswered, SessionAnswered, WireSessions
from reference_impl.durability import Crash, kill_process
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.key_ring import noise_key
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import parse
from reference_impl.wire.sealed import to_bytes, to_text

READ_SIZE = 64 * 1024
WRITE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class DeviceOverTcp(DeviceDriver):
    """The driver of the reference Device, with its sessions on sockets."""

    sessions_class: type[WireSessions] = WireSessions
    sessions: WireSessions | None = None
    wire = "draft-1"

    def handle(self, message: JsonObject) -> list[JsonObject]:
        """Before it answers, it reads what its sockets hold: what the kit wrote there came first."""
        return [*self.serve_sockets(), *super().handle(message)]

    def serve_sockets(self) -> list[JsonObject]:
        """Everything that the relay has done, until nothing more is there; the messages that follow from it."""
        said: list[JsonObject] = []
        try:
            while self.sessions is not None:
                happened = self.sessions.wait(0)
                if not happened:
                    break
                for each in happened:
                    self._take(each)
                    said += self._sent()
        except Crash as crash:
            crash.said = [*said, *self._sent()]
            raise
        return said

    def _take(self, happened: Happened) -> None:
        device = self._running()
        match happened:
            case SessionAnswered(request, answer):
                device.session_answered(request, answer)
            case PushAnswered(request, answer):
                device.push_answered(request, answer)
            case BlobCame(session, blob_id, envelope):
                device.blob_delivered(session, blob_id, self._read(envelope))

    def _sent(self) -> list[JsonObject]:
        if self._instance is None:
            return []
        effects = self._instance.device.take_effects()
        return [self._message(effect) for effect in effects if not self._to_relay(effect)]

    def _to_relay(self, effect: Effect) -> bool:
        """Carry out what is for the relay. Whether it was."""
        sessions = self.sessions
        if sessions is None or not isinstance(effect, OpenReceiveSession | Push | DeliverAck):
            return False
        match effect:
            case OpenReceiveSession(request, _, version):
                identity = self._running().state.identity
                sessions.open_receive_session(request, noise_key(identity.noise_private), version)
            case Push(request, recipient, envelope, version):
                sessions.push(request, recipient, self._written(envelope), version)
            case DeliverAck(session, blob_id):
                sessions.deliver_ack(session, blob_id)
        return True

    def _written(self, envelope: Json) -> bytes:
        return WRITE(envelope).encode("utf-8") if self._plain else to_bytes(envelope)

    def _read(self, envelope: bytes) -> Json:
        """Plain Envelopes are their JSON; what is none is for the Device to find out."""
        if not self._plain:
            return to_text(envelope)
        try:
            found: Json = json.loads(envelope)
        except (ValueError, RecursionError):
            return None
        return found

    def _initialize(self, params: Params) -> JsonObject:
        self.wire = text(params, "wire")
        return super()._initialize(params)

    def _open(self, params: Params) -> JsonObject:
        result = super()._open(params)
        self.sessions = self.sessions_class(parse(text(params, "relay_address")), load_profile(self.wire))
        return result

    def _forget(self) -> None:
        super()._forget()
        self._hang_up()

    def _relay_disconnected(self, params: Params) -> JsonObject:
        self._hang_up()
        return super()._relay_disconnected(params)

    def _close(self, params: Params) -> JsonObject:
        result = super()._close(params)
        self._hang_up()
        return result

    def _hang_up(self) -> None:
        if self.sessions is not None:
            self.sessions.close()


def serve(driver: DeviceOverTcp) -> int:
    """Serve stdin and the sockets until stdin ends."""
    unread = b""
    while True:
        poll = select.poll()
        for descriptor in (sys.stdin.fileno(), *(driver.sessions.filenos() if driver.sessions else ())):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        try:
            _say(driver.serve_sockets())
            if sys.stdin.fileno() not in ready:
                continue
            data = os.read(sys.stdin.fileno(), READ_SIZE)
            if not data:
                return 0
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                _say(answers(driver, line))
        except Crash as crash:
            _say(list(crash.said))
            kill_process()


def _say(messages: list[JsonObject]) -> None:
    if messages:
        sys.stdout.write("".join(WRITE(message) + "\n" for message in messages))
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(serve(DeviceOverTcp(FolderDisk(SqliteStore))))
