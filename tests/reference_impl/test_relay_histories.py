"""Random histories against a model: nothing lost, nothing invented, nothing twice, all in arrival order."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reference_impl.durability import Crash
from reference_impl.relay.effects import Deliver, Effect
from reference_impl.relay.settings import RelaySettings
from reference_impl.relay.store import MemoryStore, SqliteStore, Store
from tests.reference_impl.relay_bench import DANA, DAY, ERIN, RelayBench, answers

DEVICES = (DANA, ERIN)
TTL = 3 * DAY


@dataclass
class Session:
    """What the model knows of one open Receive Session: the envelopes it was sent, with their blob ids."""

    device: bytes
    ids: dict[bytes, int] = field(default_factory=dict)


class RelayHistories(RuleBasedStateMachine):
    """The model keeps each Inbox as envelopes with their arrival times; every envelope is unique."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = RelayBench(RelaySettings(ttl=TTL), self.make_store())
        self.inboxes: dict[bytes, dict[bytes, int]] = {device: {} for device in DEVICES}
        self.sessions: dict[str, Session] = {}
        self.ids_used: dict[int, bytes] = {}
        self.names = 0

    def make_store(self) -> Store:
        return MemoryStore()

    def fresh(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def check(self, effects: list[Effect], expected: dict[str, list[bytes]]) -> None:
        """Each session was sent exactly these envelopes, in this order, under ids that name one Blob only."""
        seen: dict[str, list[bytes]] = {}
        for effect in effects:
            if isinstance(effect, Deliver):
                seen.setdefault(effect.session, []).append(effect.envelope)
                self.sessions[effect.session].ids[effect.envelope] = effect.blob_id
                assert self.ids_used.setdefault(effect.blob_id, effect.envelope) == effect.envelope
        assert seen == {session: envelopes for session, envelopes in expected.items() if envelopes}

    def of_device(self, device: bytes) -> list[str]:
        return [name for name, session in self.sessions.items() if session.device == device]

    @rule(device=st.sampled_from(DEVICES))
    def push(self, device: bytes) -> None:
        envelope = self.fresh("envelope").encode()
        self.inboxes[device][envelope] = self.bench.now
        effects = self.bench.push(device, envelope)
        assert answers(effects) == [None]
        self.check(effects, {name: [envelope] for name in self.of_device(device)})

    @rule(device=st.sampled_from(DEVICES))
    def push_while_the_store_fails(self, device: bytes) -> None:
        self.bench.store.failing = True
        effects = self.bench.push(device, self.fresh("envelope").encode())
        self.bench.store.failing = False
        assert answers(effects) == ["unavailable"]
        self.check(effects, {})

    @rule(device=st.sampled_from(DEVICES), after=st.booleans())
    def die_while_a_push_is_stored(self, device: bytes, after: bool) -> None:
        envelope = self.fresh("envelope").encode()
        self.bench.store.counter.arm(1, "after" if after else "before")
        died = False
        try:
            self.bench.push(device, envelope)
        except Crash:
            died = True
        assert died
        if after:
            self.inboxes[device][envelope] = self.bench.now
        self.restart()

    @rule(device=st.sampled_from(DEVICES))
    def open_session(self, device: bytes) -> None:
        mine = self.of_device(device)
        if len(mine) == self.bench.settings.max_sessions_per_device:
            del self.sessions[mine[0]]
        name = self.fresh("session")
        self.sessions[name] = Session(device)
        self.check(self.bench.open(name, device), {name: list(self.inboxes[device])})

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def close_session(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(list(self.sessions)))
        del self.sessions[name]
        assert self.bench.relay.close_receive_session(name) == []

    @precondition(lambda self: self.sessions and self.ids_used)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        """Any id that was ever seen, on any session: own or another's, for the first time or again."""
        name = data.draw(st.sampled_from(list(self.sessions)))
        blob_id = data.draw(st.sampled_from(list(self.ids_used)))
        assert self.bench.ack(name, blob_id) == []
        self.inboxes[self.sessions[name].device].pop(self.ids_used[blob_id], None)

    @rule(time=st.integers(0, 2 * DAY))
    def advance(self, time: int) -> None:
        assert self.bench.advance(time) == []
        for inbox in self.inboxes.values():
            for envelope in [each for each, arrived in inbox.items() if self.bench.now >= arrived + TTL]:
                del inbox[envelope]

    @rule()
    def restart(self) -> None:
        self.sessions.clear()
        self.bench.restart()

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        for device, inbox in self.inboxes.items():
            assert [blob.envelope for blob in self.bench.store.inbox(device)] == list(inbox)
            size = self.bench.store.inbox_size(device)
            assert (size.blobs, size.bytes) == (len(inbox), sum(map(len, inbox)))

    @invariant()
    def the_next_timer_is_the_next_expiry(self) -> None:
        arrivals = [arrived for inbox in self.inboxes.values() for arrived in inbox.values()]
        assert self.bench.relay.next_timer() == (min(arrivals) + TTL if arrivals else None)


class SqliteRelayHistories(RelayHistories):
    """The same on a disk, where each restart opens the database anew."""

    def make_store(self) -> Store:
        self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(Path(self.folder.name) / "relay.db")

    @rule()
    def restart(self) -> None:
        self.bench.store.close()
        self.bench.store = SqliteStore(Path(self.folder.name) / "relay.db")
        super().restart()

    def teardown(self) -> None:
        self.bench.store.close()
        self.folder.cleanup()


TestRelayHistories = RelayHistories.TestCase
TestRelayHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)
TestSqliteRelayHistories = SqliteRelayHistories.TestCase
TestSqliteRelayHistories.settings = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
