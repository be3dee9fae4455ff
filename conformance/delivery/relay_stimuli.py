"""What a vector can do to a relay: one method a verb, as `vectors/README.md` lists them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from conformance.delivery.relay_pushes import Push
from conformance.delivery.relay_world import DEFAULT_PUSH_SESSION, ReceiveSession, RelayWorld
from conformance.engine.argument import Argument, filler
from conformance.engine.world import Stimulus
from conformance.outcome import SpecBrokenError, VectorError


class RelayStimuli:
    """Holds no state of its own."""

    def __init__(self, world: RelayWorld) -> None:
        self.world = world
        self.table: Mapping[str, Stimulus] = {
            "open_session": self.open_session,
            "close_session": self.close_session,
            "push": self.push,
            "push_many": self.push_many,
            "push_pipelined": self.push_pipelined,
            "deliver_ack": self.deliver_ack,
            "kill": lambda _: world.kill(),
            "start": world.start,
            "restart": world.restart,
            "store": lambda argument: world.switch_store(argument.text("of")),
            "crash_at_write": self.crash_at_write,
            "connect": world.connections.connect,
            "send_frame": world.connections.send_frame,
            "send_bytes": world.connections.send_bytes,
            "pause_reading": world.connections.pause_reading,
            "disconnect": world.connections.disconnect,
        }

    # -- the life of the relay ----------------------------------------------------------------------------------

    def crash_at_write(self, argument: Argument) -> None:
        self.world.crash_at_write(argument.number("write", 1), argument.text("when", "before"))

    # -- pushes -------------------------------------------------------------------------------------------------

    def push(self, argument: Argument) -> None:
        self._needs_relay()
        self._push(argument)
        self.world.await_answers()

    def push_many(self, argument: Argument) -> None:
        """One after the other, each answered before the next, until the relay dies where it was told to."""
        self._needs_relay()
        prefix = argument.text("as")
        rest = {name: argument.get(name) for name in argument if name != "count"}
        for number in range(1, argument.number("count") + 1):
            if not self.world.open_now:
                return
            self._push(Argument({**rest, "as": f"{prefix}-{number}"}))
            self.world.await_answers()

    def push_pipelined(self, argument: Argument) -> None:
        self._needs_relay()
        several = argument.get("of")
        with self.world.connections.together():
            for each in several if isinstance(several, list) else []:
                self._push(Argument(each))
        self.world.await_answers()

    def _push(self, argument: Argument) -> None:
        label, via = argument.text("as"), argument.text("via", DEFAULT_PUSH_SESSION)
        if "frame_bytes" in argument:
            body = filler(argument.number("frame_bytes"))
            self.world.push(self.world.pushes.add(label, via, "", body), body)
            return
        recipient, envelope = argument.text("to"), self._envelope(argument, label)
        push = self.world.pushes.add(label, via, recipient, envelope)
        self.world.push(push, self.world.devices[recipient].public + envelope, argument.number("cut_after", 0))

    def _envelope(self, argument: Argument, label: str) -> bytes:
        """A size alone is filled with bytes that only this label has, so that no two pushes look alike."""
        if "size" in argument:
            return hashlib.shake_128(label.encode()).digest(argument.number("size"))
        return argument.body("body", label)

    def _needs_relay(self) -> None:
        if not self.world.open_now:
            raise VectorError("a push needs a relay that runs; start comes first")

    # -- Receive Sessions ---------------------------------------------------------------------------------------

    def open_session(self, argument: Argument) -> None:
        self.world.open_session(argument.text("as"), argument.text("device"))

    def close_session(self, argument: Argument) -> None:
        self.world.close_session(argument.text("of"))

    def deliver_ack(self, argument: Argument) -> None:
        session = self.world.session(argument.text("session"))
        if "blob_id" in argument:
            self.world.deliver_ack(session, argument.text("blob_id"), None)
            return
        for label in self.world.pushes.labels(argument.texts("of")):
            push = self.world.pushes[label]
            self.world.deliver_ack(session, _blob_id(push, session), push)


def _blob_id(push: Push, session: ReceiveSession) -> str:
    """The id the blob has on this session, or had on the last one that it was delivered on."""
    if not push.blob_ids:
        raise SpecBrokenError(
            f"{push.label} was never delivered, so there is nothing to ack",
            expected=f"a delivery of {push.label} before this step",
            observed="none",
        )
    return push.blob_ids.get(session.label) or list(push.blob_ids.values())[-1]
