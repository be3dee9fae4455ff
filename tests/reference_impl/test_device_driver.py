"""The Device behind the driver protocol: scripted messages in, messages out."""

from __future__ import annotations

import base64
import itertools

import pytest

from adapters.reference.device_driver import CAPABILITIES, DeviceDriver
from adapters.reference.disk import MemoryDisk
from reference_impl.device.memory_store import MemoryStore
from reference_impl.durability import Crash, When
from reference_impl.wire.content import Content, PairingToken, Tag
from reference_impl.wire.json_types import Json, JsonObject
from tests.reference_impl.device_bench import ALICE, BOB, CAROL, CODEC, DAY, GENESIS, START

KEYS: JsonObject = {"name": "alice", "noise_pub": ALICE.noise_pub, "signing_pub": ALICE.signing_pub}
IDENTITY: JsonObject = {**KEYS, "noise_private": "1" * 64, "signing_private": "2" * 64}
HI = base64.b64encode(b"hi").decode()


def open_params(*, provisioned: bool = True, now: int = START, **changes: Json) -> JsonObject:
    manifest = base64.b64encode(GENESIS).decode()
    return {
        "data_folder": "folder",
        "now": now,
        "end_to_end_version": 1,
        "transport_version": 1,
        "max_payload_bytes": None,
        "provision": {"identity": IDENTITY, "manifest": manifest} if provisioned else None,
        **changes,
    }


class Kit:
    """The other side of a driver: numbers its requests, and keeps apart what comes back."""

    def __init__(self) -> None:
        self.disk = MemoryDisk(MemoryStore)
        self._ids = itertools.count(1)
        self.revive()

    def revive(self) -> None:
        """A new driver on the disk as it is."""
        self.driver = DeviceDriver(self.disk)
        self.call("initialize", {"protocol_version": 1, "role": "device", "envelopes": "plain", "wire": "draft-1"})

    def exchange(self, method: str, params: Json = None) -> list[JsonObject]:
        number = next(self._ids)
        messages = self.driver.handle(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": {} if params is None else params}
        )
        assert messages[-1]["id"] == number
        assert all("method" in message for message in messages[:-1])
        return messages

    def call(self, method: str, params: Json = None) -> Json:
        return self.exchange(method, params)[-1]["result"]

    def failure(self, method: str, params: Json = None) -> Json:
        return self.exchange(method, params)[-1]["error"]

    def answer(self, request: JsonObject, result: JsonObject) -> list[JsonObject]:
        return self.driver.handle({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def deliver(self, blob_id: str, content: Content, session: str = "s1") -> list[JsonObject]:
        envelope = CODEC.seal(content, 1, ALICE.noise_pub, "9" * 64)
        return self.driver.handle(
            {
                "jsonrpc": "2.0",
                "method": "relay.deliver",
                "params": {"session": session, "blob_id": blob_id, "envelope": envelope},
            }
        )

    def receive(self) -> None:
        """Everything that is needed for a Receive Session s1, with listeners."""
        for method in ("on_event", "on_delivery_issue", "on_message"):
            self.call(method)
        request = self.exchange("relay.connected")[-2]
        assert request["method"] == "relay.open_receive_session"
        assert self.answer(request, {"outcome": "opened", "session": "s1"}) == []


def opened(**changes: Json) -> Kit:
    kit = Kit()
    assert kit.call("open", {**open_params(), **changes}) == {}
    return kit


def methods(messages: list[JsonObject]) -> list[Json]:
    return [message.get("method", "answer") for message in messages]


def message_from_bob(sequence: int = 1) -> Content:
    return Content(BOB.signing_pub, sequence, START, Tag.SYNC, b"hi")


def test_initialize_names_role_and_capabilities() -> None:
    assert Kit().call(
        "initialize", {"protocol_version": 1, "role": "device", "envelopes": "plain", "wire": "draft-1"}
    ) == {
        "name": "Device",
        "version": "0.1.0",
        "role": "device",
        "protocol_version": 1,
        "capabilities": list(CAPABILITIES),
    }


def test_an_unknown_method_is_answered_so() -> None:
    error = Kit().failure("no.such.method")
    assert isinstance(error, dict)
    assert error["code"] == -32601


@pytest.mark.parametrize("method", ["send", "settle", "status", "crash.at_write", "relay.connected"])
def test_a_call_without_an_open_device_is_refused(method: str) -> None:
    error = Kit().failure(method, {"body": HI, "write": 1, "when": "before"})
    assert error == {"code": -32600, "message": f"{method}: No Device is open, open one first."}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("send", {}),
        ("send", {"body": "%"}),
        ("send", []),
        ("clock.advance", {"now": "soon"}),
        ("crash.at_write", {"write": 0, "when": "before"}),
        ("crash.at_write", {"write": 1, "when": "during"}),
        ("open", {"data_folder": "x"}),
        ("open", open_params(provision=7)),
    ],
)
def test_params_that_do_not_fit_are_named(method: str, params: Json) -> None:
    error = opened().failure(method, params)
    assert isinstance(error, dict)
    assert error["code"] == -32602
    assert str(error["message"]).startswith(f"{method}: ")


def test_a_send_is_pushed_before_it_is_answered_and_the_answers_find_their_push() -> None:
    kit = opened()
    kit.receive()
    *pushes, answer = kit.exchange("send", {"body": HI})
    assert methods(pushes) == ["relay.push", "relay.push"]
    assert isinstance(answer["result"], dict)
    message_id = answer["result"]["message_id"]
    params = pushes[0]["params"]
    assert isinstance(params, dict)
    assert (params["recipient"], params["transport_version"]) == (BOB.noise_pub, 1)
    assert CODEC.decrypt(params["envelope"], BOB.noise_pub).content.message_id == message_id
    assert kit.answer(pushes[0], {"outcome": "ack"}) == []
    refused = kit.answer(pushes[1], {"outcome": "refused", "code": "too_large"})
    assert [message["params"] for message in refused] == [
        {"case": "sendFailed", "message_id": message_id, "reason": "tooLarge"}
    ]
    assert kit.answer(pushes[1], {"outcome": "ack"}) == []
    assert kit.call("settle") == {"next_timer": None}


def test_time_moves_and_tells_the_next_timer() -> None:
    kit = opened()
    kit.receive()
    *pushes, _ = kit.exchange("send", {"body": HI})
    for push in pushes:
        kit.answer(push, {"outcome": "refused", "code": "unavailable"})
    assert kit.call("settle") == {"next_timer": START + 1_000}
    messages = kit.exchange("clock.advance", {"now": START + 1_000})
    assert methods(messages) == ["relay.push", "relay.push", "answer"]
    assert messages[-1]["result"] == {"next_timer": START + 30 * DAY}


def test_a_message_goes_to_the_handler_and_is_acked_when_it_returned() -> None:
    kit = opened()
    kit.receive()
    (call,) = kit.deliver("7", message_from_bob())
    assert call["method"] == "handler.call"
    assert call["params"] == {
        "message": {
            "id": message_from_bob().message_id,
            "from": {"id": BOB.signing_pub, "name": "bob"},
            "body": HI,
        }
    }
    (ack,) = kit.answer(call, {"outcome": "returned"})
    assert ack == {
        "jsonrpc": "2.0",
        "method": "relay.deliver_ack",
        "params": {"session": "s1", "blob_id": "7"},
    }


def test_a_handler_that_threw_is_called_again() -> None:
    kit = opened()
    kit.receive()
    (call,) = kit.deliver("7", message_from_bob())
    for attempt in range(4):
        assert kit.answer(call, {"outcome": "threw", "error": "no"}) == []
        timer = kit.call("settle")
        assert isinstance(timer, dict)
        call, _ = kit.exchange("clock.advance", {"now": timer["next_timer"]})
        assert call["method"] == "handler.call", attempt
    gave_up = kit.answer(call, {"outcome": "threw", "error": "at last"})
    assert methods(gave_up) == ["issue", "relay.deliver_ack"]
    assert gave_up[0]["params"] == {
        "case": "handlerGaveUp",
        "message_id": message_from_bob().message_id,
        "error": "at last",
    }


def test_api_errors_name_the_case_of_the_spec() -> None:
    kit = opened(max_payload_bytes=1)
    error = kit.failure("send", {"body": HI})
    assert isinstance(error, dict)
    assert (error["code"], error["data"]) == (1, {"case": "payloadTooLarge", "max": 1})
    kit.call("on_message")
    error = kit.failure("on_message")
    assert isinstance(error, dict)
    assert error["data"] == {"case": "messageHandlerAlreadySet"}
    kit.call("close")
    error = kit.failure("status")
    assert isinstance(error, dict)
    assert error["data"] == {"case": "closed"}


def test_status_tells_who_and_how() -> None:
    kit = opened()
    assert kit.call("status") == {
        "status": "member",
        "me": {"id": ALICE.signing_pub, **KEYS},
        "members": [{"id": BOB.signing_pub, "name": "bob"}, {"id": CAROL.signing_pub, "name": "carol"}],
        "connection": {"state": "connecting"},
    }
    kit.call("on_message")
    request, _ = kit.exchange("relay.connected")
    kit.answer(request, {"outcome": "unsupported", "min": 2, "max": 3})
    status = kit.call("status")
    assert isinstance(status, dict)
    assert status["connection"] == {"state": "relayVersionUnsupported", "min": 2, "max": 3}


def test_a_polite_restart_keeps_the_queue_and_seals_with_fresh_keys() -> None:
    kit = opened()
    kit.call("relay.connected")
    first = kit.exchange("send", {"body": HI})[:-1]
    kit.call("close")
    kit.call("open", open_params(provisioned=False))
    second = kit.exchange("relay.connected")[:-1]
    assert methods(second) == ["relay.push", "relay.push"]
    seen = set()
    for push in first + second:
        assert isinstance(push["params"], dict)
        assert isinstance(push["params"]["envelope"], dict)
        seen.add(push["params"]["envelope"]["ephemeral_pub"])
    assert len(seen) == 4
    assert {push["id"] for push in first}.isdisjoint({push["id"] for push in second})


@pytest.mark.parametrize(("when", "pushes"), [("before", 0), ("after", 2)])
def test_a_crash_at_a_write_leaves_what_was_durable(when: When, pushes: int) -> None:
    kit = opened()
    kit.call("crash.at_write", {"write": 1, "when": when})
    with pytest.raises(Crash):
        kit.exchange("send", {"body": HI})
    kit.revive()
    kit.call("open", open_params(provisioned=False))
    assert len(kit.exchange("relay.connected")) == pushes + 1


@pytest.mark.parametrize("method", ["open", "reset"])
def test_the_next_open_or_reset_disarms_a_crash(method: str) -> None:
    kit = opened()
    kit.call("crash.at_write", {"write": 1, "when": "before"})
    if method == "reset":
        kit.call("reset")
    kit.call("open", open_params(provisioned=False))
    assert isinstance(kit.call("send", {"body": HI}), dict)


def test_after_a_reset_nothing_of_the_last_case_is_left() -> None:
    kit = opened()
    kit.receive()
    (call,) = kit.deliver("7", message_from_bob())
    kit.call("reset")
    assert kit.answer(call, {"outcome": "returned"}) == []
    assert kit.deliver("8", message_from_bob(2)) == []
    kit.call("open", open_params(data_folder="another"))
    assert kit.answer(call, {"outcome": "returned"}) == []


@pytest.mark.parametrize("answer", [{}, {"outcome": "maybe"}, {"outcome": "opened"}, {"outcome": "unsupported"}])
def test_an_answer_that_is_none_is_passed_over(answer: JsonObject) -> None:
    kit = opened()
    kit.call("on_message")
    request, _ = kit.exchange("relay.connected")
    assert kit.answer(request, answer) == []
    assert kit.driver.handle({"jsonrpc": "2.0", "id": 10_000, "result": {"outcome": "ack"}}) == []
    assert kit.driver.handle({"jsonrpc": "2.0", "method": "no.such.notification", "params": {}}) == []


def test_pairing_goes_through_both_sides() -> None:
    kit = opened(provision={"identity": IDENTITY, "manifest": None})
    kit.receive()
    answer = kit.call("start_pairing")
    assert isinstance(answer, dict)
    token = CODEC.decode_token(str(answer["pairing_token"]))
    assert token.signing_pub == ALICE.signing_pub
    body = CODEC.encode_pair(BOB.noise_pub, BOB.signing_pub, token.secret)
    event, _ack = kit.deliver("1", Content(BOB.signing_pub, 1, START, Tag.PAIR, body))
    assert isinstance(event["params"], dict)
    assert event["params"]["case"] == "joinRequest"
    request = event["params"]["request"]
    assert isinstance(request, dict)
    *consequences, _answer = kit.exchange("accept", {"request": request["id"]})
    assert methods(consequences) == ["event", "event", "relay.push"]
    kit.call("cancel_pairing")
    kit.call("cancel_join")
    kit.call("remove", {"member": BOB.signing_pub})
    kit.call("destroy_group")
    error = kit.failure("leave")
    assert isinstance(error, dict)
    assert error["data"] == {"case": "notMember", "status": "destroying"}


def test_join_and_cancel_of_a_listener() -> None:
    kit = opened(provision={"identity": IDENTITY, "manifest": None})
    listener = kit.call("on_event")
    assert isinstance(listener, dict)
    token = CODEC.encode_token(PairingToken(BOB.noise_pub, BOB.signing_pub, "secret"))
    event, _ = kit.exchange("join", {"pairing_token": token})
    assert event["params"] == {"case": "statusChanged", "status": "pendingJoin", "reason": None}
    kit.call("cancel", {"handle": listener["handle"]})
    assert methods(kit.exchange("cancel_join")) == ["answer"]
    assert methods(kit.exchange("relay.connected")) == ["answer"]
    assert methods(kit.exchange("relay.disconnected")) == ["answer"]
