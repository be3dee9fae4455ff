"""What a vector can expect of a relay: one method a kind, as `vectors/README.md` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.delivery import relay_connection_expectations
from conformance.delivery.life import Killed
from conformance.delivery.relay_records import BlobDelivered, PushAnswered, SessionEnded
from conformance.delivery.relay_world import UNTYPED, RelayWorld
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.engine.world import Expectation, Matcher


class RelayExpectations:
    def __init__(self, world: RelayWorld) -> None:
        self.world = world
        self.table: Mapping[str, Expectation] = {
            "push_acked": self.push_acked,
            "push_refused": self.push_refused,
            "delivered": self.delivered,
            "session_closed": self.session_closed,
            "died": self.died,
            **relay_connection_expectations.table(),
        }

    def push_acked(self, argument: Argument) -> Sequence[Matcher]:
        if argument.value is None:
            return [Matcher("Ack of any push", _answered("", ("",)))]
        return [Matcher(f"Ack of {label}", _answered(label, ("",))) for label in self._labels(argument)]

    def push_refused(self, argument: Argument) -> Sequence[Matcher]:
        if argument.value is None:
            return [Matcher("any refusal", lambda record: isinstance(record, PushAnswered) and bool(record.code))]
        codes = argument.texts("code")
        words = " or ".join(codes)
        return [
            Matcher(f"Error {words} for {label}", _answered(label, (*codes, UNTYPED)))
            for label in self._labels(argument)
        ]

    def delivered(self, argument: Argument) -> Sequence[Matcher]:
        if argument.value is None:
            return [Matcher("any Deliver", lambda record: isinstance(record, BlobDelivered))]
        session = self.world.session(argument.text("session"))
        ended = " (the relay has ended it)" if session.problem == "ended" else ""
        return [
            Matcher(f"Deliver {label} on {session.label}{ended}", _delivered(label, session.label))
            for label in self._labels(argument)
        ]

    def session_closed(self, argument: Argument) -> Sequence[Matcher]:
        if argument.value is None:
            return [Matcher("the end of any session", lambda record: isinstance(record, SessionEnded))]
        label = self.world.session(argument.text("of")).label
        return [
            Matcher(
                f"the relay ends the Receive Session {label}",
                lambda record: isinstance(record, SessionEnded) and record.session == label,
            )
        ]

    def died(self, _: Argument) -> Sequence[Matcher]:
        return [Matcher("the process dies at the write", lambda record: isinstance(record, Killed))]

    def _labels(self, argument: Argument) -> list[str]:
        return self.world.pushes.labels(argument.texts("of"))


def _answered(label: str, codes: Sequence[str]) -> Callable[[Record], bool]:
    """Answers with one of these codes, the empty one for an ack; an empty label for any push."""
    return lambda record: isinstance(record, PushAnswered) and label in ("", record.label) and record.code in codes


def _delivered(label: str, session: str) -> Callable[[Record], bool]:
    return lambda record: isinstance(record, BlobDelivered) and (record.label, record.session) == (label, session)
