"""A Relay with its clock and its disk, as short calls for the tests of the Relay."""

from __future__ import annotations

from reference_impl.relay.effects import Deliver, Effect, PushAnswered, Refusal, SessionClosed
from reference_impl.relay.relay import Relay
from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import MemoryStore, Store

DANA, ERIN = b"d" * 32, b"e" * 32
START = 1_893_456_000_000
SECOND = 1000
DAY = 24 * 60 * 60 * SECOND
DEFAULTS = RelaySettings()


class RelayBench:
    """One Relay at a time; `restart` drops it and starts another on the same store."""

    def __init__(
        self,
        settings: RelaySettings = DEFAULTS,
        store: Store | None = None,
        relay_class: type[Relay] = Relay,
    ) -> None:
        self.settings = settings
        self.store = store if store is not None else MemoryStore()
        self.relay_class = relay_class
        self.now = START
        self.pushes = 0
        self.restart()

    def restart(self) -> None:
        self.relay = self.relay_class(self.store, self.settings, self.now)
        self.relay.open_push_session("p")

    def push(self, recipient: bytes, envelope: bytes) -> list[Effect]:
        return self.push_body(recipient + envelope)

    def push_body(self, body: bytes) -> list[Effect]:
        self.pushes += 1
        return self.relay.push("p", self.pushes, body, self.now)

    def open(self, session: str, device: bytes) -> list[Effect]:
        return self.relay.open_receive_session(session, device, self.now)

    def ack(self, session: str, blob_id: int) -> list[Effect]:
        return self.relay.deliver_ack(session, blob_id)

    def advance(self, milliseconds: int) -> list[Effect]:
        self.now += milliseconds
        return self.relay.advance(self.now)


def delivered(effects: list[Effect], session: str) -> list[bytes]:
    """The envelopes that were sent to that session, in order."""
    return [effect.envelope for effect in effects if isinstance(effect, Deliver) and effect.session == session]


def ids(effects: list[Effect], session: str) -> list[int]:
    """The blob ids that were sent to that session, in order."""
    return [effect.blob_id for effect in effects if isinstance(effect, Deliver) and effect.session == session]


def answers(effects: list[Effect]) -> list[Refusal | None]:
    """The answers to pushes, in order: None is an ack."""
    return [effect.refusal for effect in effects if isinstance(effect, PushAnswered)]


def ended(effects: list[Effect]) -> list[str]:
    """The sessions that the Relay ended."""
    return [effect.session for effect in effects if isinstance(effect, SessionClosed)]
