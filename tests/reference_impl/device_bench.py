"""A bench for the reference Device: peers that seal, a relay that answers as told, and what the Device did."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from reference_impl.device import effects as fx
from reference_impl.device.device import Device
from reference_impl.device.identity import Identity
from reference_impl.device.memory_store import MemoryStore
from reference_impl.device.options import Options, Provision
from reference_impl.device.store import Store
from reference_impl.wire.content import Content, Manifest, Member, Sealed, Tag
from reference_impl.wire.json_types import Json
from reference_impl.wire.plain import PlainCodec

START = 1_893_456_000_000
SECOND = 1_000
DAY = 86_400_000
GROUP = "ab" * 32
CODEC = PlainCodec()

E = TypeVar("E")
R = TypeVar("R")


def peer(letter: str, name: str) -> Member:
    return Member(noise_pub=letter * 64, signing_pub=letter * 62 + "00", name=name)


ALICE, BOB, CAROL = peer("a", "alice"), peer("b", "bob"), peer("c", "carol")
DAVE, MALLORY = peer("d", "dave"), peer("e", "mallory")


def manifest_body(
    *members: Member, version: int = 1, parent: str = "", issuer: Member = BOB, group: str = GROUP
) -> bytes:
    manifest = Manifest(group, version, parent, members, issuer.signing_pub, "", signature_valid=True)
    return CODEC.encode_manifest(manifest, 1)


def hash_of(body: bytes) -> str:
    return CODEC.decode_manifest(body, 1).hash


GENESIS = manifest_body(ALICE, BOB, CAROL)


@dataclass(frozen=True, slots=True)
class Opened:
    """A Push as its recipient reads it."""

    request: int
    recipient: str
    envelope: Json
    sealed: Sealed

    @property
    def content(self) -> Content:
        return self.sealed.content


class Bench:
    """One Device on one store. `effects` is what it did since the last look at each kind."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        manifest: bytes | None = GENESIS,
        device_class: type[Device] = Device,
        options: Options | None = None,
        listening: bool = True,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        self.now = START
        self.effects: list[fx.Effect] = []
        self.session = "none"
        self._device_class = device_class
        self._listening = listening
        self._seeds = itertools.count(1)
        self._blob_ids = itertools.count(1)
        self._sessions = itertools.count(1)
        self._sequences: dict[str, itertools.count[int]] = {}
        self._provision = Provision(Identity(ALICE, "a" * 64, "b" * 64), manifest)
        self.start(options)

    def start(self, options: Options | None = None) -> None:
        """Open on the store as it is, as after a kill: what the last run did is not looked at any more."""
        self.effects.clear()
        chosen = replace(options if options is not None else Options(), provision=self._provision)
        self.device = self._device_class(self.store, CODEC, self._random, self.now, chosen)
        if self._listening:
            self.device.on_event()
            self.device.on_delivery_issue()
        self._collect()

    def ready(self) -> Bench:
        """Register the handler and connect."""
        self.do(self.device.on_message)
        self.connect()
        return self

    def _random(self, size: int) -> bytes:
        return next(self._seeds).to_bytes(size, "big")

    def _collect(self) -> None:
        self.effects += self.device.take_effects()

    def do(self, call: Callable[[], R]) -> R:
        result = call()
        self._collect()
        return result

    def take(self, kind: type[E]) -> list[E]:
        """The effects of one kind so far, each given once."""
        found: list[E] = []
        rest: list[fx.Effect] = []
        for effect in self.effects:
            if isinstance(effect, kind):
                found.append(effect)
            else:
                rest.append(effect)
        self.effects = rest
        return found

    def seen(self) -> list[fx.Effect]:
        """Calls of the handler, acks and issues so far: what comes of a Blob."""
        return [*self.take(fx.CallHandler), *self.take(fx.DeliverAck), *self.take(fx.NotifyIssue)]

    def issues(self) -> list[fx.Issue]:
        return [effect.issue for effect in self.take(fx.NotifyIssue)]

    def events(self) -> list[fx.Event]:
        return [effect.event for effect in self.take(fx.NotifyEvent)]

    def statuses(self) -> list[fx.StatusChanged]:
        return [event for event in self.events() if isinstance(event, fx.StatusChanged)]

    # The relay

    def connect(self) -> None:
        self.do(self.device.relay_connected)
        self.answer_sessions()

    def answer_sessions(self) -> None:
        for effect in self.take(fx.OpenReceiveSession):
            self.session = f"s{next(self._sessions)}"
            self.answer_session(effect, fx.Opened(self.session))

    def answer_session(self, asked: fx.OpenReceiveSession, answer: fx.SessionAnswer) -> None:
        self.do(lambda: self.device.session_answered(asked.request, answer))

    def disconnect(self) -> None:
        self.do(self.device.relay_disconnected)

    def pushes(self, to: Member | None = None) -> list[Opened]:
        found = self.take(fx.Push)
        if to is not None:
            self.effects += [effect for effect in found if effect.recipient != to.noise_pub]
            found = [effect for effect in found if effect.recipient == to.noise_pub]
        return [
            Opened(push.request, push.recipient, push.envelope, CODEC.decrypt(push.envelope, push.recipient))
            for push in found
        ]

    def push(self, to: Member) -> Opened:
        """The one push to this member that there is."""
        (push,) = self.pushes(to)
        return push

    def answer(self, push: Opened, answer: fx.PushAnswer) -> None:
        self.do(lambda: self.device.push_answered(push.request, answer))

    def accept_all(self) -> list[Opened]:
        """Answer every push with an ack until there is none left. Returns them in order."""
        accepted: list[Opened] = []
        while batch := self.pushes():
            for push in batch:
                accepted.append(push)
                self.answer(push, fx.Accepted())
        return accepted

    def send(self, body: bytes = b"hi") -> str:
        return self.do(lambda: self.device.send(body))

    # Peers

    def content(
        self,
        sender: Member = BOB,
        body: bytes = b"hi",
        *,
        sent: int = 0,
        tag: int = Tag.SYNC,
        sequence: int | None = None,
    ) -> Content:
        """`sent` is relative to now."""
        if sequence is None:
            sequence = next(self._sequences.setdefault(sender.signing_pub, itertools.count(1)))
        return Content(sender.signing_pub, sequence, self.now + sent, tag, body)

    def seal(self, content: Content, *, version: int = 1, to: str | None = None) -> Json:
        recipient = self.device.state.me.noise_pub if to is None else to
        return CODEC.seal(content, version, recipient, self._random(32).hex())

    def deliver(self, envelope: Json, blob_id: str | None = None) -> str:
        name = f"{next(self._blob_ids)}" if blob_id is None else blob_id
        self.do(lambda: self.device.blob_delivered(self.session, name, envelope))
        return name

    def deliver_message(self, content: Content) -> str:
        return self.deliver(self.seal(content))

    def acks(self) -> list[str]:
        return [ack.blob_id for ack in self.take(fx.DeliverAck)]

    # The app

    def calls(self) -> list[fx.CallHandler]:
        return self.take(fx.CallHandler)

    def call(self) -> fx.CallHandler:
        """The one call of the handler that there is."""
        (call,) = self.calls()
        return call

    def end_handler(self, call: fx.CallHandler, error: str | None = None) -> None:
        self.do(lambda: self.device.handler_ended(call.request, error))

    def handle(self, content: Content) -> str:
        """Deliver a message, let the handler return."""
        blob_id = self.deliver_message(content)
        self.end_handler(self.call())
        return blob_id

    # Time

    def advance(self, duration: int) -> None:
        self.now += duration
        self.do(lambda: self.device.advance(self.now))

    def run_timers(self, until: int) -> None:
        """From timer to timer, no further than `until` from now."""
        end = self.now + until
        while (timer := self.device.next_timer()) is not None and timer <= end:
            self.advance(timer - self.now)
        self.advance(end - self.now)
