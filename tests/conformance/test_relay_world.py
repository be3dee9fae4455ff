# ruff: noqa: ARG002 - a relay that deviates need not use all it is given
"""The world around a relay: vectors run against the reference pass, and what fails says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.reference.jsonrpc import notification
from conformance.drivers.in_process import MessageMachine
from conformance.engine.run import PASSED, Finding
from conformance.outcome import Outcome
from reference_impl.durability import Crash
from reference_impl.relay.effects import Effect
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.store import Blob
from reference_impl.wire.json_types import JsonObject
from tests.conformance.relay_bench import of_class, of_machine

RIGHT = {
    "stored, delivered, acked, gone": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        - deliver_ack: {of: A, session: s1}
        - expect: nothing
        - close_session: s1
        - open_session: {device: dana, as: s2}
        - expect: nothing
        """,
    "an open session gets what arrives": """
        - open_session: {device: dana, as: s1}
        - push: {as: A, to: dana, body: {bytes: 40}}
        - expect: {push_acked: A}
        - expect: {delivered: {of: A, session: s1}}
        """,
    "many, one after the other, and by their prefix": """
        - push_many: {as: P, to: dana, count: 5, size: 3}
        - expect: {push_acked: P-*}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: P-*, session: s1}}
        - deliver_ack: {of: [P-1, P-3], session: s1}
        - open_session: {device: dana, as: s2}
        - expect: {delivered: {of: [P-2, P-4, P-5], session: s2}}
        """,
    "pipelined on two Push Sessions": """
        - push_pipelined: [{as: A, to: dana}, {as: B, to: erin, via: p2}, {as: C, to: dana, size: 0}]
        - expect: {push_acked: [A, B, C]}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: [A, C], session: s1}}
        """,
    "refusals": """
        - push: {as: short, frame_bytes: 31}
        - expect: {push_refused: {of: short, code: malformed}}
        - push: {as: big, to: dana, size: 65483}
        - expect: {push_refused: {of: big, code: [too_large, internal_error]}}
        - push: {as: A, to: dana, size: 65482}
        - expect: {push_acked: A}
        """,
    "killed after the ack": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - kill
        - start
        - push: {as: B, to: dana}
        - expect: {push_acked: B}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: [A, B], session: s1}}
        """,
    "dead at the write, before it or behind it": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - crash_at_write: {write: 1, when: after}
        - push: {as: B, to: dana}
        - expect: died
        - start
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        - expect: {any_of: [[], [{delivered: {of: B, session: s1}}]]}
        """,
    "an ack that the crash cut off": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        - crash_at_write: {write: 1, when: before}
        - deliver_ack: {of: A, session: s1}
        - expect: died
        - start
        - open_session: {device: dana, as: s2}
        - expect: {any_of: [[], [{delivered: {of: A, session: s2}}]]}
        """,
    "nobody acks for somebody else": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - open_session: {device: dana, as: d1}
        - expect: {delivered: {of: A, session: d1}}
        - open_session: {device: erin, as: e1}
        - deliver_ack: {of: A, session: e1}
        - deliver_ack: {blob_id: "18446744073709551615", session: e1}
        - expect: nothing
        - open_session: {device: dana, as: d2}
        - expect: {delivered: {of: A, session: d2}}
        """,
    "restarted with another setting": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - restart: {settings: {max_blobs_per_inbox: 1}}
        - push: {as: B, to: dana}
        - expect: {push_refused: {of: B, code: inbox_full}}
        - restart
        - push: {as: C, to: dana}
        - expect: {push_refused: {of: C, code: inbox_full}}
        """,
    "the store fails for a while": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        - store: failing
        - push: {as: B, to: dana}
        - expect: {push_refused: {of: B, code: [unavailable, internal_error]}}
        - deliver_ack: {of: A, session: s1}
        - store: working
        - open_session: {device: dana, as: s2}
        - expect: {any_of: [[], [{delivered: {of: A, session: s2}}]]}
        """,
    "gone after the TTL": """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - advance: 31d
        - open_session: {device: dana, as: s1}
        - expect: nothing
        """,
    "equal bytes are two blobs": """
        - push: {as: A, to: dana, body: same}
        - expect: {push_acked: A}
        - push: {as: B, to: dana, body: same}
        - expect: {push_acked: B}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: [A, B], session: s1}}
        - deliver_ack: {of: A, session: s1}
        - open_session: {device: dana, as: s2}
        - expect: {delivered: {of: B, session: s2}}
        """,
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_reference_passes(tmp_path: Path, name: str) -> None:
    assert of_class(tmp_path).run(RIGHT[name]) == PASSED


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_relay_of_another_making_passes(tmp_path: Path, name: str) -> None:
    assert of_machine(tmp_path, Unusual).run(RIGHT[name]) == PASSED


class Unusual:
    """Nothing here breaks the spec: notifications come before the answer, each delivery has an id of its own,
    and those count downwards, and an idle Push Session is ended."""

    def __init__(self, inner: MessageMachine) -> None:
        self._inner = inner
        self._next_id = 2**64 - 1
        self._pushing: list[str] = []
        self._ids: dict[tuple[str, str], str] = {}

    def handle(self, message: JsonObject) -> list[JsonObject]:
        written = [self._renamed(each) for each in self._inner.handle(self._original(message))]
        written.sort(key=lambda each: "id" in each)
        if message["method"] == "push_session.open":
            self._pushing += [str(name) for name in _fields(written[0], "result").values()]
        if message["method"] == "settle":
            ended, self._pushing = self._pushing, []
            return [notification("session.closed", {"session": name}) for name in ended] + written
        return written

    def _renamed(self, message: JsonObject) -> JsonObject:
        if message.get("method") != "deliver":
            return message
        params = _fields(message, "params")
        self._next_id -= 1
        self._ids[str(params["session"]), str(self._next_id)] = str(params["blob_id"])
        return {**message, "params": {**params, "blob_id": str(self._next_id)}}

    def _original(self, message: JsonObject) -> JsonObject:
        """With the id that the reference knows; an id that was not given out becomes 0, which it never gives."""
        if message["method"] != "deliver_ack":
            return message
        params = _fields(message, "params")
        known = self._ids.get((str(params["session"]), str(params["blob_id"])), "0")
        return {**message, "params": {**params, "blob_id": known}}


def _fields(message: JsonObject, name: str) -> JsonObject:
    value = message[name]
    assert isinstance(value, dict)
    return value


class TakesOver(Relay):
    """A new Receive Session of a device ends the one before, and gets what arrives."""

    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        for older in self.sessions.of_device(device):
            self.end_session(older)
        return super().open_receive_session(session, device, now)


class HandsOver(Relay):
    """What arrives goes to the oldest session only; when that goes, the next one gets what was not acked."""

    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient)[:1]:
            self.deliver_once(session, blob)

    def close_receive_session(self, session: str) -> list[Effect]:
        closed = self.sessions.receiving(session)
        super().close_receive_session(session)
        heirs = self.sessions.of_device(closed.device)[:1] if closed is not None else []
        for heir in heirs:
            self.deliver_waiting(heir, 0)
        return self.take_effects()


def test_which_of_two_sessions_gets_a_blob_is_open(tmp_path: Path) -> None:
    steps = """
        - open_session: {device: dana, as: s1}
        - open_session: {device: dana, as: s2}
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - expect: {any_of: [
            [{delivered: {of: A, session: s1}}], [{delivered: {of: A, session: s2}}],
            [{delivered: {of: A, session: s1}}, {delivered: {of: A, session: s2}}]]}
        - close_session: s1
        - push: {as: B, to: dana}
        """
    allow = "[delivered, push_acked]"
    for relay_class in (Relay, TakesOver, HandsOver):
        assert of_class(tmp_path, relay_class).run(steps, allow=allow) == PASSED


def test_a_blob_that_is_handed_over_may_come_late(tmp_path: Path) -> None:
    class HandsOverInTurns(HandsOver):
        def deliver_new(self, blob: Blob) -> None:
            sessions = self.sessions.of_device(blob.recipient)
            self.deliver_once(sessions[(blob.arrival - 1) % len(sessions)], blob)

    steps = """
        - open_session: {device: dana, as: s1}
        - open_session: {device: dana, as: s2}
        - push_many: {as: P, to: dana, count: 2}
        - expect: {push_acked: P-*}
        - expect: {delivered: {of: P-1, session: s1}}
        - expect: {delivered: {of: P-2, session: s2}}
        - close_session: s1
        - expect: {delivered: {of: P-1, session: s2}}
        """
    assert of_class(tmp_path, HandsOverInTurns).run(steps) == PASSED


def test_a_session_that_the_relay_ended_takes_no_ack_and_says_so(tmp_path: Path) -> None:
    steps = """
        - open_session: {device: dana, as: s1}
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - expect: {delivered: {of: A, session: s1}}
        - open_session: {device: dana, as: s2}
        - expect: {delivered: {of: A, session: s2}}
        - expect: {session_closed: s1}
        - deliver_ack: {of: A, session: s1}
        - close_session: s1
        - push: {as: B, to: dana}
        - expect: {push_acked: B}
        - expect: {delivered: {of: B, session: s1}}
        """
    finding = of_class(tmp_path, TakesOver).run(steps, allow="[delivered]")
    assert finding.reason == "Deliver B on s1 (the relay has ended it) did not come after push: {as: B, to: dana}"
    assert "dana > relay: DeliverAck A (blob 1) on s1, lost: the relay has ended that session" in _lines(finding)


# -- starting ---------------------------------------------------------------------------------------------------------


def test_a_setting_that_must_be_refused_is_refused(tmp_path: Path) -> None:
    steps = """
        - start: {settings: {ttl: 30d+1ms}, fails: {case: settingRefused}}
        - advance: 1d
        - start: {settings: {ttl: 30d}}
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        """
    assert of_class(tmp_path).run(steps, setup="{started: false}") == PASSED


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (
            "start: {settings: {ttl: 30d}, fails: {case: settingRefused}}",
            "the relay started, and with this setting it must refuse to",
        ),
        ("start: {settings: {ttl: 31d}}", "the relay refuses to start because of its setting ttl"),
        (
            "start: {settings: {ttl: 31d}, fails: {case: settingRefused, setting: push_burst}}",
            "the relay refuses to start because of its setting ttl",
        ),
    ],
)
def test_a_start_that_goes_the_other_way_fails(tmp_path: Path, start: str, reason: str) -> None:
    finding = of_class(tmp_path).run(f"- {start}", setup="{started: false}")
    assert (finding.outcome, finding.reason, finding.step) == (Outcome.FAIL, reason, 1)


# -- what is wrong with the vector or with the driver -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            "- push: {as: A, to: dana}\n- expect: {push_acked: A}\n- push: {as: A, to: dana}",
            "two pushes are called A",
        ),
        ("- close_session: s1", "no Receive Session is called s1"),
        (
            "- open_session: {device: dana, as: s1}\n- open_session: {device: erin, as: s1}",
            "two Receive Sessions are called s1",
        ),
        (
            "- open_session: {device: dana, as: s1}\n- close_session: s1\n- close_session: s1",
            "the Receive Session s1 is closed already",
        ),
        (
            "- open_session: {device: dana, as: s1}\n- deliver_ack: {of: A, session: s1}",
            "nothing that was pushed is called A",
        ),
        (
            '- open_session: {device: dana, as: s1}\n- restart\n- deliver_ack: {blob_id: "1", session: s1}',
            "the Receive Session s1 went with the relay, nothing can be acked on it",
        ),
        ("- kill\n- push: {as: A, to: dana}", "a push needs a relay that runs; start comes first"),
        ("- kill\n- store: failing", "store needs a relay that runs; start comes first"),
        ("- start", "the relay runs already; start comes after kill, or where setup says started: false"),
        ("- push: {as: A, to: dana}\n- expect: {push_acked: B-*}", "nothing that was pushed is called B-*"),
    ],
)
def test_a_vector_that_cannot_be_run_is_an_error(tmp_path: Path, steps: str, reason: str) -> None:
    finding = of_class(tmp_path).run(steps, allow="[push_refused]")
    assert (finding.outcome, finding.reason) == (Outcome.ERROR, f"the vector cannot be run: {reason}")


def test_what_a_relay_never_delivered_cannot_be_acked_and_that_is_its_fault(tmp_path: Path) -> None:
    steps = """
        - open_session: {device: dana, as: s1}
        - push: {as: A, frame_bytes: 1}
        - deliver_ack: {of: A, session: s1}
    """
    finding = of_class(tmp_path).run(steps, allow="[push_refused]")
    assert (finding.outcome, finding.reason) == (Outcome.FAIL, "A was never delivered, so there is nothing to ack")


def test_a_relay_that_dies_by_itself_is_an_error_and_not_a_fail(tmp_path: Path) -> None:
    class Dies(Relay):
        def store_push(self, frame: PushFrame, now: int) -> Blob:
            raise Crash

    finding = of_class(tmp_path, Dies).run("- push: {as: A, to: dana}")
    assert finding.outcome is Outcome.ERROR
    assert finding.reason.startswith("the driver ended")


def test_the_exchange_reads_like_a_conversation(tmp_path: Path) -> None:
    steps = """
        - push: {as: A, to: dana}
        - expect: {push_acked: A}
        - push: {as: x, frame_bytes: 3, via: p2}
        - expect: {push_refused: {of: x, code: malformed}}
        - store: failing
        - store: working
        - crash_at_write: {write: 9, when: after}
        - restart: {settings: {ttl: 1d}}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        - deliver_ack: {of: A, session: s1}
        - deliver_ack: {blob_id: "77", session: s1}
        - close_session: s1
        - advance: 1h
        - kill
        - expect: {delivered: {of: A, session: s1}}
        """
    assert _lines(of_class(tmp_path).run(steps)) == [
        "kit > relay: starts",
        "a sender > relay: Push A to dana on the Push Session, an envelope of 1 byte",
        "relay > a sender: Ack: A",
        "a sender > relay: Push x on p2: a body of 3 bytes that names no recipient",
        "relay > a sender: Error malformed: x",
        "kit > relay: from now on no durable write succeeds",
        "kit > relay: durable writes succeed again",
        "kit > relay: will die after its durable write number 9 from now",
        "kit > relay: polite stop",
        "kit > relay: starts again on the same data folder with ttl: 86400000",
        "dana > relay: opens the Receive Session s1",
        "relay > dana: Deliver A (blob 1) on s1",
        "dana > relay: DeliverAck A (blob 1) on s1",
        "dana > relay: DeliverAck blob 77, an id that nobody has on s1",
        "dana > relay: closes the Receive Session s1",
        "clock: +1h",
        "relay: SIGKILL",
    ]


def _lines(finding: Finding) -> list[str]:
    return [
        f"{record.source}{'' if record.target == record.source else ' > ' + record.target}: {record.describe()}"
        for record in finding.history
    ]
