"""The system behind its driver, over a link that says what the test tells it to say."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from conformance import system as systems
from conformance.catalogue import catalogue
from conformance.drivers.link import Silence
from conformance.engine.run import MAX_FAILED_STARTS, Runner
from conformance.engine.world import Role
from conformance.outcome import DriverDiedError, DriverError, Outcome
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.system import Call, System, Timeouts
from conformance.vector import Case
from reference_impl.wire.json_types import Json, JsonObject

ISSUE: JsonObject = {"jsonrpc": "2.0", "method": "issue", "params": {"case": "unauthorized"}}
CAPABILITIES = ("clock", "settle")


class ScriptedLink:
    """Answers every call well, and lets a test put in what comes besides."""

    serves_many_cases = True
    is_live = False

    def __init__(self, capabilities: tuple[str, ...] = CAPABILITIES) -> None:
        self.capabilities = capabilities
        self.incoming: deque[Json | Exception] = deque()
        self.starts = 0
        self.fails_to_start = False
        self.endless: Json = None

    def start(self) -> None:
        self.starts += 1
        self.incoming.clear()
        if self.fails_to_start:
            raise DriverError("the command 'x' cannot be started: gone")

    def send(self, message: JsonObject) -> None:
        method = message.get("method")
        if "id" not in message or method is None:
            return
        results: dict[Json, JsonObject] = {
            "initialize": {
                "name": "x",
                "version": "1",
                "role": "device",
                "protocol_version": 1,
                "capabilities": list(self.capabilities),
            },
            "settle": {"next_timer": 5},
        }
        answer: JsonObject = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(method, {})}
        if method == systems.UNKNOWN_METHOD:
            answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601}}
        if self.endless is None:
            self.incoming.append(answer)

    def receive(self, seconds: float) -> Json:  # noqa: ARG002 - nothing comes later that is not here yet
        if self.endless is not None:
            return self.endless
        if not self.incoming:
            raise Silence
        first = self.incoming.popleft()
        if isinstance(first, Exception):
            raise first
        return first

    def has_more(self) -> bool:
        return bool(self.incoming) or self.endless is not None

    def kill(self) -> None:
        self.incoming.clear()

    def data_folder(self) -> contextlib.AbstractContextManager[str]:
        return contextlib.nullcontext("memory")

    def stop(self) -> None:
        self.kill()

    def last_words(self) -> str:
        return ""


class Anybody:
    def receive(self, call: Call) -> None:
        assert call.method == "issue"


def make(link: ScriptedLink, timeouts: Timeouts | None = None) -> System:
    system = System(link, "device", definitions(ROLES["device"].schemas), timeouts or Timeouts(reply=0.2))
    system.start()
    system.listen(Anybody())
    return system


def test_what_comes_long_after_a_reset_names_the_case_that_had_ended() -> None:
    link = ScriptedLink()
    system = make(link)
    system.begin_case("ONE")
    system.reset()
    link.incoming.append(ISSUE)
    with pytest.raises(
        DriverError, match="sent issue after it had answered the `reset` that ended ONE; forget everything"
    ):
        system.begin_case("TWO")


def test_a_driver_that_ends_after_a_reset_is_told_to_go_on() -> None:
    link = ScriptedLink()
    system = make(link)
    system.begin_case("ONE")
    system.reset()
    link.incoming.append(DriverDiedError("the driver exited with status 0"))
    with pytest.raises(DriverError, match=r"status 0, after it had answered the `reset` that ended ONE; .* must go on"):
        system.begin_case("TWO")


def test_answers_to_what_a_reset_ended_are_not_taken() -> None:
    link = ScriptedLink()
    system = make(link)
    taken: list[JsonObject] = []
    number = system.post("status", {}, taken.append)
    link.incoming.clear()
    system.reset()
    system.listen(Anybody())
    link.incoming.append({"jsonrpc": "2.0", "id": number, "result": {}})
    with pytest.raises(DriverError, match=f"answered request {number}, which waits for no answer"):
        system.settle()
    assert taken == []


def test_a_driver_whose_clock_is_its_own_may_speak_unasked() -> None:
    link = ScriptedLink(("settle",))
    system = make(link)
    assert system.settle() is None
    link.incoming.append(ISSUE)
    assert system.settle() is None


def test_a_driver_whose_clock_is_the_kit_s_may_not() -> None:
    link = ScriptedLink()
    system = make(link)
    assert system.settle() == 5
    link.incoming.append(ISSUE)
    with pytest.raises(DriverError, match="sent issue after its answer to `settle`"):
        system.notify("relay.deliver", {"session": "s", "blob_id": "1", "envelope": ENVELOPE})


ENVELOPE: JsonObject = {
    "end_to_end_version": 1,
    "recipient_pub": "ab" * 32,
    "ephemeral_pub": "cd" * 32,
    "sealed": None,
}


@pytest.mark.parametrize(
    ("speak", "sentence"),
    [
        (
            lambda system: system.call("send", {"body": 5}),
            "the kit's own send does not fit the protocol: body: 5 is not",
        ),
        (lambda system: system.notify("relay.deliver", {}), "the kit's own relay.deliver does not fit the protocol"),
        (
            lambda system: system.answer(1, "relay.push", {"outcome": "yes"}),
            "the kit's own answer to relay.push does not fit the protocol: outcome: 'yes'",
        ),
        (lambda system: system.call("fly", {}), "the kit's own fly is no message of the driver protocol"),
    ],
)
def test_the_kit_s_own_messages_are_checked_too(speak: Callable[[System], object], sentence: str) -> None:
    system = make(ScriptedLink())
    with pytest.raises(DriverError) as caught:
        speak(system)
    assert sentence in str(caught.value)


def test_a_case_has_its_time() -> None:
    system = make(ScriptedLink(), Timeouts(reply=5, case=0))
    system.begin_case("ONE")
    with pytest.raises(DriverError, match=r"took longer than 0 s, .* answer to settle; .* raise `timeouts\.case`"):
        system.settle()


def test_messages_instead_of_an_answer_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "MAX_MESSAGES", 50)
    link = ScriptedLink()
    system = make(link, Timeouts(reply=60))
    link.endless = ISSUE
    with pytest.raises(DriverError, match="sent more than 50 messages instead of its answer to settle"):
        system.settle()


def test_a_driver_without_settle_must_become_quiet() -> None:
    link = ScriptedLink(())
    system = make(link)
    assert system.settle() is None
    system = make(link, Timeouts(reply=0.01))
    link.endless = ISSUE
    with pytest.raises(DriverError, match=r"was not quiet for 0\.2 s within 0\.1 s; offer the capability `settle`"):
        system.settle()


# -- the runner around it ---------------------------------------------------------------------------------------------

CASE = Case(
    id="ONE",
    vector="ONE",
    title="",
    spec="delivery",
    role="device",
    clauses=("RCV-001",),
    requires=(),
    setup={},
    allow=(),
    hostile=False,
    steps=(),
    location="own.yaml",
    line=1,
)


def broken_world(*_: object) -> Iterator[None]:
    raise KeyError("no such peer")


@pytest.mark.parametrize("serves_many_cases", [True, False])
def test_what_the_kit_did_not_foresee_is_an_error_of_one_case(serves_many_cases: bool) -> None:
    link = ScriptedLink()
    link.serves_many_cases = serves_many_cases
    system = System(link, "device", definitions(ROLES["device"].schemas), Timeouts(reply=0.2))
    role = Role("device", "delivery", ROLES["device"].schemas, broken_world, swept=True)  # type: ignore[arg-type]  # a world that cannot be made
    finding = Runner(role, system, catalogue("delivery")).run(CASE)
    assert finding.outcome is Outcome.ERROR
    assert finding.reason.startswith(
        "the kit itself failed here, which says nothing about the system: KeyError at test_"
    )
    assert finding.reason.endswith("please report it, with the vector and the exchange")
    assert not system.running


def test_a_driver_that_never_starts_is_not_waited_for_in_every_case() -> None:
    link = ScriptedLink()
    link.fails_to_start = True
    system = System(link, "device", definitions(ROLES["device"].schemas), Timeouts())
    runner = Runner(ROLES["device"], system, catalogue("delivery"))
    reasons = [runner.run(CASE).reason for _ in range(MAX_FAILED_STARTS + 2)]
    assert link.starts == MAX_FAILED_STARTS
    assert reasons[0] == "the command 'x' cannot be started: gone"
    assert reasons[-1] == "not tried: the driver could not be started 3 times in a row; see the cases before"
