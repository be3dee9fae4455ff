"""Random histories: what a Device promises whatever the relay, the app and the clock do."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reference_impl.device import effects as fx
from reference_impl.device.options import Options
from reference_impl.durability import Crash
from reference_impl.wire.content import Content, Member
from reference_impl.wire.json_types import Json
from tests.reference_impl.device_bench import BOB, CAROL, DAY, SECOND, Bench, Opened

QUIET = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
WAITS = st.sampled_from([1, SECOND, DAY, 29 * DAY, 30 * DAY, 59 * DAY, 60 * DAY - 1, 60 * DAY, 60 * DAY + 1])
AGES = st.sampled_from([-60 * DAY - 1, -60 * DAY, -30 * DAY, 0, DAY, 45 * DAY])
ANSWERS: st.SearchStrategy[fx.PushAnswer] = st.sampled_from(
    (fx.Accepted(), fx.Accepted(), fx.Lost(), fx.Refused("inbox_full"), fx.Refused("malformed"))
)
PEERS = st.sampled_from([BOB, CAROL])


class HandledOnce(RuleBasedStateMachine):
    """RPW-006: no schedule makes the handler run twice to its end, nor twice at all but for a crash in it."""

    @initialize()
    def begin(self) -> None:
        self.bench = Bench().ready()
        self.contents: list[Content] = []
        self.seals: list[Json] = []
        self.running: fx.CallHandler | None = None
        self.returned: Counter[str] = Counter()
        self.started: Counter[str] = Counter()
        self.excused: Counter[str] = Counter()

    def look(self) -> None:
        """No handler starts while one runs (RCV-004)."""
        for call in self.bench.calls():
            assert self.running is None
            self.running = call
            self.started[call.message.id] += 1

    def redeliver(self, envelope: Json) -> None:
        self.bench.deliver(envelope)
        self.look()

    @rule(sender=PEERS, age=AGES)
    def new_message(self, sender: Member, age: int) -> None:
        content = self.bench.content(sender, sent=age)
        self.contents.append(content)
        self.seals.append(self.bench.seal(content))
        self.redeliver(self.seals[-1])

    @precondition(lambda self: self.contents)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        self.redeliver(data.draw(st.sampled_from(self.seals)))

    @precondition(lambda self: self.contents)
    @rule(data=st.data())
    def seal_anew(self, data: st.DataObject) -> None:
        self.redeliver(self.bench.seal(data.draw(st.sampled_from(self.contents))))

    @precondition(lambda self: self.running is not None)
    @rule()
    def handler_returns(self) -> None:
        call = self.running
        assert call is not None
        self.running = None
        self.returned[call.message.id] += 1
        self.bench.end_handler(call)
        self.look()

    @precondition(lambda self: self.running is not None)
    @rule()
    def handler_throws(self) -> None:
        call = self.running
        assert call is not None
        self.running = None
        self.excused[call.message.id] += 1
        self.bench.end_handler(call, "threw")
        self.look()

    @rule(wait=WAITS)
    def wait(self, wait: int) -> None:
        self.bench.advance(wait)
        self.look()

    @rule()
    def reconnect(self) -> None:
        self.bench.disconnect()
        self.bench.connect()
        self.look()

    @rule()
    def restart(self) -> None:
        self._excuse_running()
        self.bench.start()
        self.bench.ready()

    @precondition(lambda self: self.running is not None)
    @rule()
    def crash_before_the_dedup_write(self) -> None:
        call = self.running
        assert call is not None
        self.bench.store.counter.arm(1, "before")
        try:
            self.bench.end_handler(call)
        except Crash:
            self.restart()

    def _excuse_running(self) -> None:
        if self.running is not None:
            self.excused[self.running.message.id] += 1
        self.running = None

    @invariant()
    def nobody_is_handled_twice(self) -> None:
        for message_id, count in self.returned.items():
            assert count == 1
            assert self.started[message_id] <= count + self.excused[message_id]


class InOrder(RuleBasedStateMachine):
    """SND-007, SND-013, SND-018, SND-025: per recipient in Sequence order, whatever the relay answers."""

    @initialize()
    def begin(self) -> None:
        self.bench = Bench().ready()
        self.waiting: list[Opened] = []
        self.settled: dict[str, set[int]] = {BOB.noise_pub: set(), CAROL.noise_pub: set()}
        self.bodies: dict[int, Content] = {}
        self.sent = 0

    def look(self) -> None:
        for push in self.bench.pushes():
            sequence = push.content.sequence
            assert sequence not in self.settled[push.recipient]
            assert all(other.recipient != push.recipient for other in self.waiting)
            assert self.bodies.setdefault(sequence, push.content) == push.content
            alive = {entry.sequence for entry in self.bench.store.outbox() if entry.recipient == push.recipient}
            assert sequence == min(alive)
            self.waiting.append(push)

    @rule()
    def send(self) -> None:
        self.sent += 1
        self.bench.send(str(self.sent).encode())
        self.look()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        push = data.draw(st.sampled_from(self.waiting))
        answer = data.draw(ANSWERS)
        self.waiting.remove(push)
        if answer in (fx.Accepted(), fx.Refused("malformed")):
            self.settled[push.recipient].add(push.content.sequence)
        self.bench.answer(push, answer)
        self.look()

    @rule(wait=st.sampled_from([SECOND, 60 * SECOND, DAY, 10 * DAY]))
    def wait(self, wait: int) -> None:
        """What expires in flight is answered to nobody."""
        self.bench.advance(wait)
        alive = {(entry.sequence, entry.recipient) for entry in self.bench.store.outbox()}
        self.waiting = [push for push in self.waiting if (push.content.sequence, push.recipient) in alive]
        self.look()

    @rule()
    def reconnect(self) -> None:
        self.bench.disconnect()
        self.waiting.clear()
        self.bench.connect()
        self.look()

    @rule(when=st.sampled_from(["kill", "before", "after"]))
    def crash(self, when: str) -> None:
        if when != "kill":
            self.bench.store.counter.arm(1, "before" if when == "before" else "after")
            try:
                self.send()
            except Crash:
                self.sent += 1
        self.waiting.clear()
        self.bench.start(Options())
        self.bench.ready()
        self.look()

    @invariant()
    def the_timer_lies_ahead(self) -> None:
        timer = self.bench.device.next_timer()
        assert timer is None or timer > self.bench.now

    def teardown(self) -> None:
        """In the end all that is left goes out, in order."""
        left = self.bench.store.outbox()
        for push in self.waiting:
            self.bench.answer(push, fx.Accepted())
        self.bench.accept_all()
        self.bench.disconnect()
        self.bench.connect()
        self.bench.accept_all()
        assert self.bench.store.outbox() == [], left


TestHandledOnce = HandledOnce.TestCase
TestHandledOnce.settings = QUIET
TestInOrder = InOrder.TestCase
TestInOrder.settings = QUIET
