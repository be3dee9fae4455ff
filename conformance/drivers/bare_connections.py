"""Bare connections to a relay's listeners, whose bytes the kit's world writes and reads itself (capability `tcp`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from conformance.drivers.channel import Channel
from conformance.drivers.socket_watch import SocketWatch
from conformance.messages import notification
from conformance.outcome import DriverError
from reference_impl.wire.json_types import Json, JsonObject

Params = Mapping[str, Json]


class BareConnections:
    """By name. `tell` gets what the relay does on them, as messages to the kit."""

    def __init__(self, watch: SocketWatch, tell: Callable[[JsonObject], None]) -> None:
        self._watch = watch
        self._tell = tell
        self._open: dict[str, Channel] = {}
        self._named = 0

    def open(self, host: str, port: int, seconds: float) -> str:
        """Connect, and give the connection's name. Raises RefusedError if nobody takes it."""
        channel = Channel.connect(host, port, seconds)
        self._named += 1
        name = f"connection-{self._named}"
        self._open[name] = channel
        self._follow(name, channel)
        return name

    def write(self, params: Params) -> None:
        name, channel = self._named_in(params)
        if channel is not None:
            channel.write(base64.b64decode(str(params["data"])))
            self._follow(name, channel)

    def pause(self, params: Params) -> None:
        name, channel = self._named_in(params)
        if channel is not None:
            channel.pause()
            self._follow(name, channel)

    def close(self, params: Params) -> None:
        name, channel = self._named_in(params)
        if channel is None:
            return
        if params["how"] == "reset":
            self._drop(name, channel)
            channel.reset()
        elif params["how"] == "fin":
            channel.shut()
            self._follow(name, channel)
        else:
            channel.vanish()
            self._follow(name, channel)

    def forget(self) -> None:
        """Close them all."""
        for name, channel in list(self._open.items()):
            self._drop(name, channel)
            channel.close()

    def _named_in(self, params: Params) -> tuple[str, Channel | None]:
        """None for one that the relay has closed already: nothing more can be done with it."""
        name = str(params["connection"])
        number = name.removeprefix("connection-")
        if not number.isdigit() or int(number) > self._named:
            raise DriverError(f"there is no connection {name!r}")
        return name, self._open.get(name)

    def _follow(self, name: str, channel: Channel) -> None:
        self._watch.watch(channel.fileno(), lambda: self._read(name, channel), channel.events)

    def _drop(self, name: str, channel: Channel) -> None:
        self._watch.forget(channel.fileno())
        del self._open[name]

    def _read(self, name: str, channel: Channel) -> bool:
        moved = channel.flush()
        data = channel.read()
        if data:
            text = base64.b64encode(data).decode("ascii")
            self._tell(notification("connection.data", {"connection": name, "data": text}))
        if channel.closed:
            self._tell(notification("connection.closed", {"connection": name, "how": channel.closed}))
            self._drop(name, channel)
            channel.close()
        else:
            self._follow(name, channel)
        return moved or bool(data) or bool(channel.closed)
