# ruff: noqa: ARG002 - a relay that deviates need not use all it is given
"""The promises of a relay: for each one a relay that breaks just that, found on its clause and told in words.

`allow` lets everything come in these vectors, so that it is the promise that speaks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.reference.jsonrpc import notification
from conformance.drivers.in_process import MessageMachine
from conformance.outcome import Outcome
from reference_impl.relay.effects import Effect, Refusal
from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.relay import PushFrame, Relay
from reference_impl.relay.sessions import ReceiveSession
from reference_impl.relay.store import Blob
from reference_impl.wire.json_types import JsonObject
from tests.conformance.relay_bench import of_class, of_machine

ALLOW = "[delivered, push_acked, push_refused]"


class SendsAllAgain(Relay):
    """Whatever arrives, the whole inbox is sent."""

    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient):
            for each in self.inboxes.waiting(blob.recipient, blob.arrived_at):
                self.deliver(session, each)


class NewestFirst(Relay):
    def create_inboxes(self) -> Inboxes:
        class Reversed(Inboxes):
            def in_order(self, blobs: list[Blob]) -> list[Blob]:
                return blobs[::-1]

        return Reversed(self.store, self.settings)


class CutsTheEnd(Relay):
    def create_inboxes(self) -> Inboxes:
        class Cutting(Inboxes):
            def kept_bytes(self, envelope: bytes) -> bytes:
                return envelope.rstrip(b"\n")

        return Cutting(self.store, self.settings)


class AddsAtTheEnd(Relay):
    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        super().deliver(session, Blob(1, 1, blob.recipient, blob.envelope + b"\0", 0))


class ReadsAsText(Relay):
    def deliver(self, session: ReceiveSession, blob: Blob) -> None:
        text = blob.envelope.decode("ascii", "replace").encode()
        super().deliver(session, Blob(blob.blob_id, blob.arrival, blob.recipient, text, 0))


class TellsEverybody(Relay):
    def deliver_new(self, blob: Blob) -> None:
        for session in self.sessions.of_device(blob.recipient):
            self.deliver_once(session, blob)
        for session in self.sessions._receiving.values():
            self.deliver_once(session, blob)


class KeepsWhatItRefuses(Relay):
    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        blob = self.store_push(frame, now)
        if frame.envelope != b"A":
            self.answer(session, push, None)
            return
        self.answer(session, push, Refusal.RATE_LIMITED)
        self.deliver_new(blob)


class DeliversBeforeItRefuses(Relay):
    def accept(self, session: str, push: int, frame: PushFrame, now: int) -> None:
        self.deliver_new(self.store_push(frame, now))
        self.answer(session, push, Refusal.INTERNAL_ERROR)


class IgnoresAcks(Relay):
    def apply_ack(self, session: ReceiveSession, blob_id: int) -> None:
        return


class ForgetsAcksWhenKilled(Relay):
    """Acked blobs are hidden in memory and never deleted."""

    def create_inboxes(self) -> Inboxes:
        class Hiding(Inboxes):
            def is_deliverable(inner, blob: Blob, now: int) -> bool:  # noqa: N805 - `self` is the relay around it
                return blob.blob_id not in self.__dict__.get("hidden", set())

        return Hiding(self.store, self.settings)

    def delete_acked(self, blob: Blob) -> None:
        self.__dict__.setdefault("hidden", set()).add(blob.blob_id)


class UsesIdsAgain(Relay):
    def create_inboxes(self) -> Inboxes:
        class Reusing(Inboxes):
            def blob_id(inner, arrival: int) -> int:  # noqa: N805 - `self` is the relay around it
                return next(number for number in range(1, arrival + 1) if self.store.find(number) is None)

        return Reusing(self.store, self.settings)


class NeverNoticesTheEnd(Relay):
    def close_receive_session(self, session: str) -> list[Effect]:
        return []


class GoesOnAfterItsEnd(Relay):
    def open_receive_session(self, session: str, device: bytes, now: int) -> list[Effect]:
        for older in self.sessions.of_device(device):
            self.end_session(older)
            self.sessions.open_receiving(older.name, device)
        return super().open_receive_session(session, device, now)


WATCHED = """
    - open_session: {device: dana, as: s1}
    - open_session: {device: erin, as: e1}
    - push: {as: A, to: dana}
    - push: {as: B, to: dana}
    """
LATER = """
    - push: {as: A, to: dana}
    - push: {as: B, to: dana}
    - open_session: {device: dana, as: s1}
    """
ACKED = """
    - push: {as: A, to: dana}
    - open_session: {device: dana, as: s1}
    - deliver_ack: {of: A, session: s1}
    """
BYTES = """
    - push: {as: A, to: dana, body: "text\\n\\n"}
    - open_session: {device: dana, as: s1}
    """

NOT_PUSHED = "the relay delivers an envelope of {} bytes to dana that nobody pushed: {}"

BROKEN: list[tuple[type[Relay], str, str, str]] = [
    (SendsAllAgain, WATCHED, "RLY-004", "A is delivered twice on s1"),
    (NewestFirst, LATER, "RLY-003", "A is delivered on s1 after B, which arrived later"),
    (
        NewestFirst,
        """
        - push_pipelined: [{as: A, to: dana}, {as: B, to: dana}]
        - open_session: {device: dana, as: s1}
        """,
        "RLY-003",
        "A is delivered on s1 after B, which arrived later",
    ),
    (
        NewestFirst,
        """
        - push: {as: A, to: dana, via: p1}
        - push: {as: B, to: dana, via: p2}
        - kill
        - start
        - open_session: {device: dana, as: s1}
        """,
        "RLY-003",
        "A is delivered on s1 after B, which arrived later",
    ),
    (
        CutsTheEnd,
        BYTES,
        "RLY-016",
        NOT_PUSHED.format(4, "it ends after 4 of the 6 bytes of A"),
    ),
    (
        AddsAtTheEnd,
        BYTES,
        "RLY-016",
        NOT_PUSHED.format(7, "it goes on for 1 byte after the 6 bytes of A"),
    ),
    (
        ReadsAsText,
        """
        - push: {as: A, to: dana, body: {base64: aGn/aGk=}}
        - open_session: {device: dana, as: s1}
        """,
        "RLY-016",
        NOT_PUSHED.format(7, "it differs from A from byte 3 on"),
    ),
    (TellsEverybody, WATCHED, "RLY-007", "A was pushed to dana and is delivered to erin"),
    (KeepsWhatItRefuses, WATCHED, "RLY-012", "A was refused as rate_limited and is delivered all the same"),
    (DeliversBeforeItRefuses, WATCHED, "RLY-012", "A is refused as internal_error and was delivered"),
    (
        IgnoresAcks,
        ACKED + "- open_session: {device: dana, as: s2}",
        "RLY-006",
        "A is delivered on s2 although dana acked it on s1",
    ),
    (
        ForgetsAcksWhenKilled,
        ACKED + "- kill\n    - start\n    - open_session: {device: dana, as: s2}",
        "RLY-006",
        "A is delivered on s2 although dana acked it on s1, before the relay started anew",
    ),
    (
        UsesIdsAgain,
        ACKED + "- push: {as: B, to: dana}",
        "RLY-006",
        "blob id 1 named A before and names B now: a late DeliverAck of A would delete B",
    ),
    (
        NeverNoticesTheEnd,
        """
        - open_session: {device: dana, as: s1}
        - close_session: s1
        - push: {as: A, to: dana}
        """,
        "RLY-005",
        "the relay delivers A on s1, which is over",
    ),
    (
        GoesOnAfterItsEnd,
        """
        - open_session: {device: dana, as: s1}
        - open_session: {device: dana, as: s2}
        - push: {as: A, to: dana}
        """,
        "RLY-005",
        "the relay delivers A on s1, which it had ended itself",
    ),
]


@pytest.mark.parametrize(
    ("relay_class", "steps", "clause", "reason"), BROKEN, ids=[f"{each[0].__name__}-{each[2]}" for each in BROKEN]
)
def test_a_broken_promise_names_its_clause(
    tmp_path: Path, relay_class: type[Relay], steps: str, clause: str, reason: str
) -> None:
    finding = of_class(tmp_path, relay_class).run(steps, allow=ALLOW)
    assert (finding.outcome, finding.clause, finding.reason) == (Outcome.FAIL, clause, reason)


@pytest.mark.parametrize("steps", sorted({steps for _, steps, _, _ in BROKEN}))
def test_the_reference_keeps_every_promise(tmp_path: Path, steps: str) -> None:
    assert of_class(tmp_path).run(steps, allow=ALLOW).reason == ""


# -- answers ----------------------------------------------------------------------------------------------------------


class Changing:
    """Changes what the reference writes. `kept` is what a subclass holds back."""

    def __init__(self, inner: MessageMachine) -> None:
        self._inner = inner
        self.kept: list[JsonObject] = []

    def handle(self, message: JsonObject) -> list[JsonObject]:
        return self.change(str(message["method"]), self._inner.handle(message))

    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        raise NotImplementedError


class AnswersLastFirst(Changing):
    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        if method == "push":
            self.kept += written
            return []
        late, self.kept = self.kept[::-1], []
        return late + written


class NeverAnswers(Changing):
    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        return [] if method == "push" else written


class ExplainsRefusals(Changing):
    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        if method != "push":
            return written
        return [{**each, "result": {**_fields(each), "why": "see the log"}} for each in written]


class CallsTheSessionGhost(Changing):
    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        if method != "push":
            return written
        ghost: JsonObject = {"session": "ghost", "blob_id": "1", "envelope": "QQ=="}
        return [*written, notification("deliver", ghost)]


def _fields(message: JsonObject) -> JsonObject:
    result = message["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("machine", "steps", "clause", "reason"),
    [
        (
            AnswersLastFirst,
            "- push_pipelined: [{as: A, to: dana}, {as: B, to: dana}]",
            "RLY-013",
            "B is answered before A, which was pushed first on the same session",
        ),
        (
            NeverAnswers,
            "- push_pipelined: [{as: A, to: dana}, {as: B, to: erin}]",
            "RLY-013",
            "the relay is quiet and has not answered the push of A, B",
        ),
        (
            ExplainsRefusals,
            "- push: {as: A, frame_bytes: 31}",
            "RLY-012",
            "the refusal of A carries more than its code: why",
        ),
        (
            CallsTheSessionGhost,
            "- push: {as: A, to: dana}",
            "RLY-007",
            "the relay delivers A on a session that no device ever opened",
        ),
    ],
)
def test_a_wrong_answer_names_its_clause(
    tmp_path: Path, machine: type[Changing], steps: str, clause: str, reason: str
) -> None:
    finding = of_machine(tmp_path, machine).run(steps, allow=ALLOW)
    assert (finding.outcome, finding.clause, finding.reason) == (Outcome.FAIL, clause, reason)


class CannotSettle(Changing):
    """Does not offer `settle`, so that the kit waits for silence."""

    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        if method != "initialize":
            return written
        return [{**each, "result": {**_fields(each), "capabilities": ["clock", "restart"]}} for each in written]


def test_a_driver_that_cannot_settle_is_judged_alike(tmp_path: Path) -> None:
    steps = """
        - push_pipelined: [{as: A, to: dana}, {as: B, to: erin}]
        - expect: {push_acked: [A, B]}
        - open_session: {device: dana, as: s1}
        - expect: {delivered: {of: A, session: s1}}
        """
    assert of_machine(tmp_path, CannotSettle).run(steps).outcome is Outcome.PASS
    silent = of_machine(tmp_path, lambda inner: CannotSettle(NeverAnswers(inner))).run(steps)
    assert (silent.outcome, silent.clause) == (Outcome.FAIL, "RLY-013")


def test_two_push_sessions_may_be_answered_in_any_order(tmp_path: Path) -> None:
    steps = "- push_pipelined: [{as: A, to: dana}, {as: B, to: dana, via: p2}]"
    assert of_machine(tmp_path, _LateOnTheFirst).run(steps, allow=ALLOW).outcome is Outcome.PASS


class _LateOnTheFirst(AnswersLastFirst):
    """Answers what came second first, but lets each Push Session be opened meanwhile."""

    def change(self, method: str, written: list[JsonObject]) -> list[JsonObject]:
        return written if method == "push_session.open" else super().change(method, written)


# -- doubt ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_ack_that_the_crash_cut_off_may_hold_or_not(tmp_path: Path, when: str) -> None:
    steps = f"""
        - push: {{as: A, to: dana}}
        - open_session: {{device: dana, as: s1}}
        - crash_at_write: {{write: 1, when: {when}}}
        - deliver_ack: {{of: A, session: s1}}
        - expect: died
        - start
        - open_session: {{device: dana, as: s2}}
        """
    assert of_class(tmp_path).run(steps, allow=ALLOW).outcome is Outcome.PASS


def test_an_ack_while_the_store_fails_may_be_without_effect(tmp_path: Path) -> None:
    steps = """
        - push: {as: A, to: dana}
        - open_session: {device: dana, as: s1}
        - store: failing
        - deliver_ack: {of: A, session: s1}
        - store: working
        - open_session: {device: dana, as: s2}
        - expect: {delivered: {of: A, session: s2}}
        """
    assert of_class(tmp_path).run(steps, allow=ALLOW).outcome is Outcome.PASS


@pytest.mark.parametrize("write", [1, 2, 3])
@pytest.mark.parametrize("when", ["before", "after"])
def test_pushes_that_a_crash_cut_off_are_stored_or_not(tmp_path: Path, write: int, when: str) -> None:
    steps = f"""
        - crash_at_write: {{write: {write}, when: {when}}}
        - push_pipelined: [{{as: A, to: dana}}, {{as: B, to: dana}}, {{as: C, to: dana}}]
        - expect: died
        - start
        - push: {{as: D, to: dana}}
        - expect: {{push_acked: D}}
        - open_session: {{device: dana, as: s1}}
        - expect: {{delivered: {{of: D, session: s1}}}}
        """
    assert of_class(tmp_path).run(steps, allow=ALLOW).outcome is Outcome.PASS
