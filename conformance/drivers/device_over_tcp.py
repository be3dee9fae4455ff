"""`link: tcp`: a device whose API is reached over stdio, and which finds the kit as a relay on real sockets.

It turns frames into the messages of the driver protocol and back, so that engine, world and vectors know nothing of
sockets. There is no thread: what comes from the device is read while the kit waits for something.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from conformance.drivers import json_lines
from conformance.drivers.accepted import Accepted
from conformance.drivers.channel import Channel
from conformance.drivers.link import Silence
from conformance.drivers.process import ProcessLink
from conformance.drivers.relay_ports import LOOPBACK
from conformance.drivers.socket_watch import SocketWatch
from conformance.messages import notification, request
from conformance.outcome import DriverDiedError, DriverError, SpecBrokenError
from reference_impl.wire import frames
from reference_impl.wire.connection import Connection, Established, Event, FrameReceived, Kind
from reference_impl.wire.errors import WireError
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import WireProfile
from reference_impl.wire.relay_address import RelayAddress
from reference_impl.wire.sealed import to_bytes, to_text

RELAY_KEY = KeyPair.from_private(hashlib.sha256(b"conformance kit: key of the relay that devices find").digest())
OTHER_KEY = KeyPair.from_private(hashlib.sha256(b"conformance kit: key of quite another relay").digest())
OWN_IDS = 1_000_000_000
"""From here on the ids of requests are this link's own; a driver numbers its own from 1."""
WATCH_SECONDS = 0.1
"""How often a silent driver is looked after."""
KINDS: tuple[Kind, ...] = ("receive", "push")
Params = Mapping[str, Json]


class DeviceOverTcpLink:
    """Wraps the link to a driver. `plain`: what the frames carry is JSON."""

    serves_many_cases = True
    is_live = False

    def __init__(self, inner: ProcessLink, profile: WireProfile, *, plain: bool) -> None:
        self._inner = inner
        self._profile = profile
        self._plain = plain
        self._watch = SocketWatch()
        self._heard: tuple[int, ...] = ()
        self._listeners: dict[Kind, socket.socket] = {}
        self._accepted: dict[int, Accepted] = {}
        self._asked: dict[int, Accepted] = {}
        self._ready: deque[JsonObject] = deque()
        self._ids = itertools.count(OWN_IDS)
        self._settling: dict[int, int] = {}
        self._hello: Json = None
        self._stirred = False
        self._reachable = False
        self._versions = (1, 1)
        self._key = RELAY_KEY
        self._fault: SpecBrokenError | None = None
        self._calls: Mapping[str, Callable[[JsonObject], None]] = {
            "initialize": self._initialize,
            "open": self._open,
            "reset": self._end_life,
            "settle": self._settle,
            "relay.connected": self._connected,
            "relay.disconnected": self._disconnected,
            "relay.versions": self._set_versions,
            "relay.deliver": self._deliver,
            "relay.cut": self._cut,
            "relay.key": self._set_key,
        }

    # -- as a link ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._hang_up()
        self._inner.start()
        if not self._listeners:
            for kind in KINDS:
                self._listen(kind)

    def send(self, message: JsonObject) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            self._calls.get(method, self._inner.send)(message)
        elif isinstance(number, int) and number >= OWN_IDS:
            self._answered(number, message)
        else:
            self._inner.send(message)

    def receive(self, seconds: float) -> Json:
        deadline = time.monotonic() + seconds
        while not self._ready:
            self._drain()
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            if self._ready:
                break
            if self._inner.has_more():
                self._hear()
                continue
            left = deadline - time.monotonic()
            if left <= 0:
                raise Silence
            self._listen_to_driver()
            self._watch.wait(min(left, WATCH_SECONDS))
        return self._ready.popleft()

    def has_more(self) -> bool:
        self._drain()
        return bool(self._ready) or self._inner.has_more()

    def kill(self) -> None:
        self._stop_listening_to_driver()
        self._inner.kill()
        self._hang_up()

    def stop(self) -> None:
        self.kill()
        for listener in self._listeners.values():
            self._watch.forget(listener.fileno())
            listener.close()
        self._listeners.clear()

    def data_folder(self) -> AbstractContextManager[str]:
        return self._inner.data_folder()

    def last_words(self) -> str:
        return self._inner.last_words()

    # -- the driver's side --------------------------------------------------------------------------------------

    def _hear(self) -> None:
        """One message of the driver. What it did on its sockets before stands before it."""
        try:
            message = self._inner.receive(0)
        except Silence:
            return
        except DriverDiedError:
            if self._drain():
                return
            raise
        self._drain()
        if not isinstance(message, dict):
            self._ready.append(message)  # type: ignore[arg-type] # whoever checks messages says what it is
            return
        number = message.get("id")
        if "method" in message or not isinstance(number, int):
            self._ready.append(message)
        elif number in self._settling:
            self._settled(number, message)
        else:
            self._ready.append(_with_sockets(message) if number == self._hello else message)

    def _settled(self, number: int, message: JsonObject) -> None:
        """It is quiet if nothing was said to it on a socket since it was asked; else it is asked again."""
        original = self._settling.pop(number)
        if self._stirred and "result" in message:
            self._ask_to_settle(original)
        else:
            self._ready.append({**message, "id": original})

    def _ask_to_settle(self, original: int) -> None:
        self._stirred = False
        number = next(self._ids)
        self._settling[number] = original
        self._inner.send(request(number, "settle", {}))

    def _listen_to_driver(self) -> None:
        outputs = tuple(self._inner.outputs())
        if outputs != self._heard:
            self._stop_listening_to_driver()
            for descriptor in outputs:
                self._watch.watch(descriptor, lambda: False)  # who waits reads it; it is no news of a socket
            self._heard = outputs

    def _stop_listening_to_driver(self) -> None:
        for descriptor in self._heard:
            self._watch.forget(descriptor)
        self._heard = ()

    # -- what the kit says --------------------------------------------------------------------------------------

    def _initialize(self, message: JsonObject) -> None:
        self._hello = message["id"]
        self._inner.send(message)

    def _open(self, message: JsonObject) -> None:
        self._hang_up()
        ports = {kind: listener.getsockname()[1] for kind, listener in self._listeners.items()}
        address = RelayAddress(RELAY_KEY.public, LOOPBACK, ports["receive"], ports["push"])
        self._inner.send({**message, "params": {**_params(message), "relay_address": str(address)}})

    def _end_life(self, message: JsonObject) -> None:
        self._hang_up()
        self._inner.send(message)

    def _settle(self, message: JsonObject) -> None:
        self._ask_to_settle(int(str(message["id"])))

    def _connected(self, message: JsonObject) -> None:
        self._reachable = True
        self._inner.send(message)

    def _disconnected(self, message: JsonObject) -> None:
        self._drop_all()
        self._reachable = False
        self._inner.send(message)

    def _set_versions(self, message: JsonObject) -> None:
        params = _params(message)
        self._versions = (int(str(params["min"])), int(str(params["max"])))

    def _deliver(self, message: JsonObject) -> None:
        params = _params(message)
        for peer in self._accepted.values():
            if peer.session == params["session"]:
                self._write(peer, self._frame(params))

    def _cut(self, message: JsonObject) -> None:
        params = _params(message)
        for peer in [each for each in self._accepted.values() if each.session == params["session"]]:
            peer.flush()
            peer.connection.send(self._frame(params))
            peer.channel.write(peer.connection.data_to_send()[: int(str(params["bytes"]))])
            self._drop(peer)

    def _set_key(self, message: JsonObject) -> None:
        self._key = RELAY_KEY if _params(message)["right"] is True else OTHER_KEY

    def _frame(self, params: Params) -> frames.Deliver:
        envelope = params["envelope"]
        data = json.dumps(envelope).encode("utf-8") if self._plain else to_bytes(envelope)
        return frames.Deliver(int(str(params["blob_id"])), data)

    def _answered(self, number: int, message: JsonObject) -> None:
        """The world's answer to what a frame or a handshake asked. The connection may be gone meanwhile."""
        peer = self._asked.pop(number, None)
        result = message.get("result")
        if peer is None or not isinstance(result, Mapping):
            return
        if peer.kind == "receive":
            if result["outcome"] == "opened":
                peer.session = str(result["session"])
            else:
                self._drop(peer)
            return
        peer.answers[number] = dict(result)
        while peer.asked and peer.asked[0] in peer.answers:
            self._tell(peer, peer.answers.pop(peer.asked.popleft()))

    def _tell(self, peer: Accepted, answer: JsonObject) -> None:
        match answer["outcome"]:
            case "ack":
                self._write(peer, frames.Ack())
            case "refused":
                self._write(peer, frames.Error(self._profile.error_body(str(answer["code"]))))
            case _:
                self._drop(peer)

    # -- the sockets --------------------------------------------------------------------------------------------

    def _listen(self, kind: Kind) -> None:
        listener = socket.create_server((LOOPBACK, 0))
        listener.setblocking(False)
        self._listeners[kind] = listener
        self._watch.watch(listener.fileno(), lambda: self._accept(kind, listener))

    def _accept(self, kind: Kind, listener: socket.socket) -> bool:
        try:
            made, _ = listener.accept()
        except OSError:
            return False
        if not self._reachable:
            made.close()
            return True
        connection = Connection.responder(self._profile, kind, self._key, self._versions)
        peer = Accepted(kind, Channel(made), connection)
        self._accepted[made.fileno()] = peer
        self._follow(peer)
        return True

    def _drain(self) -> bool:
        """Serve the sockets until nothing more is there. Whether there was anything."""
        news = False
        while self._fault is None and self._watch.wait(0):
            news = True
        return news

    def _follow(self, peer: Accepted) -> None:
        self._watch.watch(peer.channel.fileno(), lambda: self._serve(peer), peer.channel.events)

    def _serve(self, peer: Accepted) -> bool:
        moved = peer.flush()
        data = peer.channel.read()
        if peer.channel.closed:
            self._drop(peer)
            return True
        if data:
            self._stirred = True
            self._read(peer, data)
        if not peer.is_dropped:
            self._follow(peer)
        return moved or bool(data)

    def _read(self, peer: Accepted, data: bytes) -> None:
        try:
            events = peer.connection.receive_data(data)
        except WireError as error:
            if self._key is RELAY_KEY:
                self._blame(peer, str(error))
            else:  # who sealed its handshake for the right relay did well
                self._drop(peer)
            return
        for event in events:
            self._take(peer, event)
        if not peer.is_dropped:
            self._flush(peer)

    def _blame(self, peer: Accepted, why: str) -> None:
        self._fault = SpecBrokenError(
            f"the device breaks the wire on a connection to the {peer.kind} listener: {why}",
            expected=f"what the wire profile {self._profile.name} says",
            observed=why,
        )

    def _take(self, peer: Accepted, event: Event) -> None:
        match event:
            case Established(remote_pub) if peer.kind == "receive" and remote_pub is not None:
                params: JsonObject = {
                    "device": remote_pub.hex(),
                    "transport_version": peer.version,
                }
                self._ask(peer, "relay.open_receive_session", params)
            case Established():
                """A Push Session says nothing by itself."""
            case FrameReceived(frame):
                self._take_frame(peer, frame)
            case _:  # the version was refused
                self._flush(peer)
                self._ready.append(_version_refused(peer))
                self._drop(peer)

    def _take_frame(self, peer: Accepted, frame: frames.Frame) -> None:
        match frame, peer.kind:
            case frames.Push(recipient_pub, envelope), "push":
                params: JsonObject = {
                    "recipient": recipient_pub.hex(),
                    "envelope": self._envelope(envelope),
                    "transport_version": peer.version,
                }
                peer.asked.append(self._ask(peer, "relay.push", params))
            case frames.DeliverAck(blob_id), "receive":
                params = {"session": peer.session or "none", "blob_id": str(blob_id)}
                self._ready.append(notification("relay.deliver_ack", params))
            case frames.Heartbeat(), _:
                self._write(peer, frames.Heartbeat())
            case _:
                self._blame(peer, f"a {type(frame).__name__} frame, which is not a device's to send there")

    def _envelope(self, data: bytes) -> Json:
        """What is no JSON for every reader goes on as text: the world says that it cannot be read."""
        if self._plain:
            with contextlib.suppress(DriverError):
                return json_lines.parse(data)
        return to_text(data)

    def _ask(self, peer: Accepted, method: str, params: JsonObject) -> int:
        number = next(self._ids)
        self._asked[number] = peer
        self._ready.append(request(number, method, params))
        return number

    def _write(self, peer: Accepted, frame: frames.Frame) -> None:
        if peer.connection.established:
            peer.connection.send(frame)
            self._flush(peer)

    def _flush(self, peer: Accepted) -> None:
        self._stirred = peer.flush() or self._stirred
        if not peer.is_dropped:
            self._follow(peer)

    def _drop(self, peer: Accepted) -> None:
        """End a connection, however much was to be said on it."""
        if peer.is_dropped:
            return
        self._stirred = True
        self._watch.forget(peer.channel.fileno())
        self._accepted.pop(peer.channel.fileno(), None)
        peer.channel.close()
        for number in [number for number, each in self._asked.items() if each is peer]:
            del self._asked[number]

    def _drop_all(self) -> None:
        for peer in list(self._accepted.values()):
            self._drop(peer)

    def _hang_up(self) -> None:
        """A new life: nothing of the one before is said any more."""
        self._drop_all()
        self._asked.clear()
        self._settling.clear()
        self._ready.clear()
        self._fault = None
        self._stirred = self._reachable = False
        self._versions, self._key = (1, 1), RELAY_KEY


def _version_refused(peer: Accepted) -> JsonObject:
    return notification("relay.version_refused", {"kind": peer.kind, "transport_version": peer.version})


def _with_sockets(greeting: JsonObject) -> JsonObject:
    """What the driver said of itself, and that its relay is reached over sockets."""
    result = greeting.get("result")
    listed = result.get("capabilities") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(listed, list):
        return greeting
    return {**greeting, "result": {**result, "capabilities": [*listed, "tcp"]}}


def _params(message: JsonObject) -> Params:
    params = message.get("params")
    return params if isinstance(params, Mapping) else {}
