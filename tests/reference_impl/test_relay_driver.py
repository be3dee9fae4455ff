"""The Relay behind the driver protocol: scripted messages in, exact messages out."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest

from adapters.reference.disk import MemoryDisk
from adapters.reference.relay_driver import CAPABILITIES, RelayDriver
from reference_impl.durability import Crash
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.store import MemoryStore, Store
from reference_impl.wire.json_types import Json, JsonObject

DANA = "dd" * 32
ERIN = "ee" * 32
NOW = 1_893_456_000_000
DAY = 24 * 60 * 60 * 1000


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def deliver(session: str, blob_id: str, envelope: bytes) -> JsonObject:
    params: JsonObject = {"session": session, "blob_id": blob_id, "envelope": encoded(envelope)}
    return {"jsonrpc": "2.0", "method": "deliver", "params": params}


class Kit:
    """The kit's side of the pipe: numbers its requests from 1 in each process."""

    def __init__(self, relay_class: type[Relay] = Relay) -> None:
        self.disk: MemoryDisk[Store] = MemoryDisk(MemoryStore)
        self.relay_class = relay_class
        self.start()

    def start(self) -> None:
        """Start the driver, after a kill on the disk that is left."""
        self.driver = RelayDriver(self.disk, self.relay_class)
        self.number = 0

    def request(self, method: str, params: Json = None) -> list[JsonObject]:
        self.number += 1
        return self.driver.handle(
            {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {} if params is None else params}
        )

    def answer(self, method: str, params: Json = None) -> Json:
        """The result of a request that has no other consequence."""
        (message,) = self.request(method, params)
        assert message["id"] == self.number
        return message["result"]

    def failure(self, method: str, params: Json = None) -> Mapping[str, Json]:
        """The error of a request."""
        (message,) = self.request(method, params)
        problem = message["error"]
        assert isinstance(problem, Mapping)
        return problem

    def open(self, settings: JsonObject | None = None, now: int = NOW) -> None:
        params: JsonObject = {"data_folder": "/disk", "now": now, "settings": settings or {}}
        assert self.answer("open", params) == {}

    def push(self, session: str, device: str, envelope: bytes) -> list[JsonObject]:
        return self.request("push", {"session": session, "body": encoded(bytes.fromhex(device) + envelope)})

    def ack(self, session: str, blob_id: str) -> list[JsonObject]:
        params: JsonObject = {"session": session, "blob_id": blob_id}
        return self.driver.handle({"jsonrpc": "2.0", "method": "deliver_ack", "params": params})

    def answered(self, result: JsonObject) -> JsonObject:
        """The answer to the request that was sent last."""
        return {"jsonrpc": "2.0", "id": self.number, "result": result}


ACK: JsonObject = {"outcome": "ack"}


def refused(code: str) -> JsonObject:
    return {"outcome": "refused", "code": code}


@pytest.fixture
def kit() -> Kit:
    kit = Kit()
    kit.open()
    return kit


def test_initialize_names_role_version_and_capabilities() -> None:
    params: JsonObject = {"protocol_version": 1, "role": "relay", "envelopes": "plain", "wire": "draft-1"}
    assert Kit().answer("initialize", params) == {
        "name": "Relay",
        "version": "0.1.0",
        "role": "relay",
        "protocol_version": 1,
        "capabilities": ["clock", "settle", "restart", "crash_at_write", "settings", "store_fault", "codec"],
    }
    assert len(set(CAPABILITIES)) == 7


def test_a_push_is_answered_then_delivered_and_an_ack_ends_it(kit: Kit) -> None:
    assert kit.answer("receive_session.open", {"device": DANA}) == {"session": "receive-1"}
    assert kit.answer("push_session.open") == {"session": "push-2"}
    assert kit.push("push-2", DANA, b"\x00hi") == [kit.answered(ACK), deliver("receive-1", "1", b"\x00hi")]
    assert kit.request("receive_session.open", {"device": DANA}) == [
        kit.answered({"session": "receive-3"}),
        deliver("receive-3", "1", b"\x00hi"),
    ]
    assert kit.ack("receive-3", "1") == []
    assert kit.answer("receive_session.open", {"device": DANA}) == {"session": "receive-4"}
    assert kit.answer("receive_session.close", {"session": "receive-4"}) == {}
    assert kit.answer("push_session.close", {"session": "push-2"}) == {}


def test_refusals_carry_the_code_and_nothing_else(kit: Kit) -> None:
    kit.answer("push_session.open")
    assert kit.request("push", {"session": "push-1", "body": encoded(bytes(31))}) == [
        kit.answered(refused("malformed"))
    ]
    assert kit.push("push-1", DANA, bytes(65_483)) == [kit.answered(refused("too_large"))]
    assert kit.answer("store.fail", {"mode": "failing"}) == {}
    assert kit.push("push-1", DANA, b"a") == [kit.answered(refused("unavailable"))]
    assert kit.answer("store.fail", {"mode": "working"}) == {}
    assert kit.push("push-1", DANA, b"a") == [kit.answered(ACK)]


def test_settings_hold_and_others_keep_their_default() -> None:
    kit = Kit()
    kit.open({"max_blobs_per_inbox": 1, "push_burst": 2, "push_rate_per_second": 1, "ttl": DAY})
    kit.answer("push_session.open")
    assert kit.push("push-1", DANA, bytes(65_482)) == [kit.answered(ACK)]
    assert kit.push("push-1", DANA, b"a") == [kit.answered(refused("inbox_full"))]
    assert kit.answer("settle") == {"next_timer": NOW + DAY}


def test_a_setting_that_is_refused_is_named_and_the_driver_can_open_again() -> None:
    kit = Kit()
    params: JsonObject = {"data_folder": "/disk", "now": NOW, "settings": {"ttl": 30 * DAY + 1}}
    problem = kit.failure("open", params)
    assert problem["code"] == 1
    assert problem["data"] == {"case": "settingRefused", "setting": "ttl"}
    kit.open({"ttl": 30 * DAY})


def test_the_clock_moves_expires_and_never_goes_back(kit: Kit) -> None:
    kit.answer("push_session.open")
    kit.push("push-1", DANA, b"a")
    assert kit.answer("settle") == {"next_timer": NOW + 30 * DAY}
    assert kit.answer("clock.advance", {"now": NOW + 30 * DAY - 1}) == {"next_timer": NOW + 30 * DAY}
    kit.answer("clock.advance", {"now": NOW})
    assert kit.answer("clock.advance", {"now": NOW + 30 * DAY}) == {"next_timer": None}
    assert kit.answer("receive_session.open", {"device": DANA}) == {"session": "receive-2"}


def test_close_and_open_keep_the_inbox_and_name_sessions_anew(kit: Kit) -> None:
    kit.answer("push_session.open")
    for envelope in (b"a", b"b"):
        kit.push("push-1", DANA, envelope)
    assert kit.answer("close") == {}
    kit.open(now=NOW + 1)
    assert kit.request("receive_session.open", {"device": DANA}) == [
        kit.answered({"session": "receive-2"}),
        deliver("receive-2", "1", b"a"),
        deliver("receive-2", "2", b"b"),
    ]
    assert kit.answer("receive_session.open", {"device": ERIN}) == {"session": "receive-3"}


def test_a_kill_keeps_what_was_acked(kit: Kit) -> None:
    kit.answer("push_session.open")
    kit.push("push-1", DANA, b"a")
    kit.start()
    kit.open()
    assert kit.request("receive_session.open", {"device": DANA})[1:] == [deliver("receive-1", "1", b"a")]


@pytest.mark.parametrize(("when", "stored"), [("before", []), ("after", [deliver("receive-1", "1", b"a")])])
def test_a_crash_at_a_write_leaves_the_driver_without_an_answer(kit: Kit, when: str, stored: list[JsonObject]) -> None:
    kit.answer("push_session.open")
    assert kit.answer("crash.at_write", {"write": 1, "when": when}) == {}
    with pytest.raises(Crash):
        kit.push("push-1", DANA, b"a")
    kit.start()
    kit.open()
    assert kit.request("receive_session.open", {"device": DANA})[1:] == stored


@pytest.mark.parametrize("ending", ["close", "reset", "kill"])
def test_the_next_open_disarms_a_crash(kit: Kit, ending: str) -> None:
    kit.answer("crash.at_write", {"write": 1, "when": "before"})
    if ending == "kill":
        kit.start()
    else:
        kit.answer(ending)
    kit.open()
    session = kit.answer("push_session.open")
    assert isinstance(session, Mapping)
    assert kit.push(str(session["session"]), DANA, b"a") == [kit.answered(ACK)]


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_full_disk_has_room_again_at_the_next_open(kit: Kit, ending: str) -> None:
    kit.answer("push_session.open")
    kit.answer("store.fail", {"mode": "failing"})
    assert kit.push("push-1", DANA, b"a") == [kit.answered(refused("unavailable"))]
    kit.answer(ending)
    kit.open()
    kit.answer("push_session.open")
    assert kit.push("push-2", DANA, b"a") == [kit.answered(ACK)]


def test_one_session_too_many_is_announced(kit: Kit) -> None:
    for _ in range(4):
        kit.answer("receive_session.open", {"device": DANA})
    assert kit.request("receive_session.open", {"device": DANA}) == [
        kit.answered({"session": "receive-5"}),
        {"jsonrpc": "2.0", "method": "session.closed", "params": {"session": "receive-1"}},
    ]


def test_reset_forgets_the_instance(kit: Kit) -> None:
    kit.answer("push_session.open")
    assert kit.answer("reset") == {}
    assert kit.answer("reset") == {}
    assert kit.failure("settle")["code"] == -32600
    assert kit.ack("receive-1", "1") == []


@pytest.mark.parametrize(
    ("method", "params", "code", "said"),
    [
        ("conformance.no_such_method", {}, -32601, "no method 'conformance.no_such_method'"),
        ("settle", [], -32602, "params is not an object"),
        ("open", {"data_folder": "/disk", "now": NOW, "settings": {}}, -32600, "open already"),
        ("receive_session.open", {"device": "DD" * 32}, -32602, "device is not 64 lower-case hex digits"),
        ("receive_session.close", {}, -32602, "session is not text"),
        ("push", {"session": "push-9", "body": ""}, -32602, "no open Push Session 'push-9'"),
        ("push", {"session": "push-9", "body": "!"}, -32602, "body is not standard base64"),
        ("clock.advance", {"now": "soon"}, -32602, "now is not a whole number"),
        ("crash.at_write", {"write": 0, "when": "before"}, -32602, "counted from 1"),
        ("crash.at_write", {"write": 1, "when": "soon"}, -32602, "neither before nor after"),
        ("store.fail", {"mode": "tired"}, -32602, "neither failing nor working"),
    ],
)
def test_a_call_that_makes_no_sense_is_answered_with_a_sentence(
    kit: Kit, method: str, params: Json, code: int, said: str
) -> None:
    problem = kit.failure(method, params)
    assert problem["code"] == code
    assert said in str(problem["message"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"tll": 1}, "settings has 'tll'"), ({"ttl": "1d"}, "ttl is not a whole number"), ([], "settings is not")],
)
def test_settings_that_make_no_sense(settings: Json, said: str) -> None:
    problem = Kit().failure("open", {"data_folder": "/disk", "now": NOW, "settings": settings})
    assert problem["code"] == -32602
    assert said in str(problem["message"])


def test_notifications_that_make_no_sense_and_answers_are_ignored(kit: Kit) -> None:
    assert kit.ack("receive-9", "99999999999999999999") == []
    assert kit.driver.handle({"jsonrpc": "2.0", "method": "nothing", "params": {}}) == []
    assert kit.driver.handle({"jsonrpc": "2.0", "id": 1, "result": {}}) == []


class HighIdInboxes(Inboxes):
    def blob_id(self, arrival: int) -> int:
        return 2**64 - arrival


class HighIdRelay(Relay):
    def create_inboxes(self) -> Inboxes:
        return HighIdInboxes(self.store, self.settings)


def test_a_deviation_is_a_small_subclass() -> None:
    kit = Kit(HighIdRelay)
    kit.open()
    kit.answer("push_session.open")
    kit.push("push-1", DANA, b"a")
    kit.push("push-1", DANA, b"b")
    assert kit.request("receive_session.open", {"device": DANA})[1:] == [
        deliver("receive-2", "18446744073709551615", b"a"),
        deliver("receive-2", "18446744073709551614", b"b"),
    ]


def test_what_was_said_before_the_write_it_dies_at_has_left() -> None:
    class AcksFirst(Relay):
        def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
            self.answer(session, push, None)
            super().accept(session, push, frame, now)

    kit = Kit(AcksFirst)
    kit.request("open", {"data_folder": "a", "now": NOW, "settings": {}})
    kit.request("push_session.open")
    kit.request("crash.at_write", {"write": 1, "when": "before"})
    with pytest.raises(Crash) as died:
        kit.request("push", {"session": "push-1", "body": encoded(bytes(64))})
    assert died.value.said == [{"jsonrpc": "2.0", "id": kit.number, "result": {"outcome": "ack"}}]
