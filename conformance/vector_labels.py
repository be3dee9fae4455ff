"""The labels of a vector: which step gives a name to what, and which steps speak of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from conformance.schema_faults import nearest
from conformance.strict_yaml import NodePath, Value
from conformance.vector import Case, Step


class Thing(Enum):
    """What a label can be the name of; the value completes "names no …"."""

    SENT = "message sent"
    BLOB = "blob delivered"
    PUSHED = "blob pushed"
    SESSION = "session opened"


@dataclass(frozen=True, slots=True)
class _Use:
    """A field that holds labels. An empty field stands for the argument itself."""

    field: str
    things: tuple[Thing, ...]


_SENT, _BLOB, _PUSHED, _SESSION = (Thing.SENT,), (Thing.BLOB,), (Thing.PUSHED,), (Thing.SESSION,)

# For each role and verb: what its `as` names. `_many` verbs name PREFIX-1 and so on.
_NAMING: Mapping[tuple[str, str], Thing] = {
    ("device", "send"): Thing.SENT,
    ("device", "send_many"): Thing.SENT,
    ("device", "deliver"): Thing.BLOB,
    ("device", "deliver_many"): Thing.BLOB,
    ("device", "deliver_copy"): Thing.BLOB,
    ("relay", "push"): Thing.PUSHED,
    ("relay", "push_many"): Thing.PUSHED,
    ("relay", "push_pipelined"): Thing.PUSHED,
    ("relay", "open_session"): Thing.SESSION,
    ("relay", "connect"): Thing.SESSION,
}
_USING: Mapping[tuple[str, str], tuple[_Use, ...]] = {
    ("device", "deliver_again"): (_Use("", _BLOB),),
    ("device", "deliver_copy"): (_Use("of", _BLOB),),
    ("device", "handler_returns"): (_Use("", _BLOB),),
    ("device", "handler_throws"): (_Use("", _BLOB),),
    ("device", "ack_push"): (_Use("", _SENT), _Use("of", _SENT)),
    ("device", "lose_push"): (_Use("", _SENT), _Use("of", _SENT)),
    ("device", "refuse_push"): (_Use("of", _SENT),),
    ("relay", "close_session"): (_Use("", _SESSION),),
    ("relay", "deliver_ack"): (_Use("of", _PUSHED), _Use("session", _SESSION)),
    ("relay", "send_frame"): (_Use("via", _SESSION),),
    ("relay", "send_bytes"): (_Use("via", _SESSION), _Use("replay_of", _SESSION)),
    ("relay", "pause_reading"): (_Use("", _SESSION),),
    ("relay", "disconnect"): (_Use("", _SESSION), _Use("of", _SESSION)),
}
_EXPECTING: Mapping[tuple[str, str], tuple[_Use, ...]] = {
    ("device", "push"): (_Use("of", _SENT),),
    ("device", "handler_called"): (_Use("", _BLOB),),
    ("device", "deliver_ack"): (_Use("", _BLOB),),
    ("device", "issue"): (_Use("of", (Thing.SENT, Thing.BLOB)),),
    ("relay", "push_acked"): (_Use("", _PUSHED),),
    ("relay", "push_refused"): (_Use("of", _PUSHED),),
    ("relay", "delivered"): (_Use("of", _PUSHED), _Use("session", _SESSION)),
    ("relay", "session_closed"): (_Use("", _SESSION),),
    ("relay", "version_refused"): (_Use("via", _SESSION),),
    ("relay", "error_frame"): (_Use("via", _SESSION),),
    ("relay", "heartbeat"): (_Use("", _SESSION),),
    ("relay", "disconnected"): (_Use("", _SESSION),),
}


def label_faults(case: Case) -> Iterator[tuple[NodePath, str]]:
    """Place and sentence for each label that is used before it is given, or given twice."""
    known: dict[str, Thing] = {}
    for step in case.steps:
        node, place = ("steps", step.number - 1), f"step {step.number}: "
        uses = _uses_of_expect(case.role, step.argument) if step.verb == "expect" else _uses_of(case.role, step)
        for label, things in uses:
            if not _is_known(label, things, known):
                yield node, _unknown(label, things, known, place, "before this step")
        for label, thing in _given(case.role, step):
            if label in known:
                yield node, f"{place}{label} is given twice; a label names one thing."
            known[label] = thing
    for number, allowed in enumerate(case.allow):
        for label, things in _uses_of_expect(case.role, allowed):
            if not _is_known(label, things, known):
                yield ("allow", number), _unknown(label, things, known, "allow: ", "by any step")


def _unknown(label: str, things: tuple[Thing, ...], known: Mapping[str, Thing], place: str, when: str) -> str:
    near = nearest(label, [each for each, thing in known.items() if thing in things])
    return f"{place}{label} names no {' and no '.join(thing.value for thing in things)} {when}{near}."


def _is_known(label: str, things: tuple[Thing, ...], known: Mapping[str, Thing]) -> bool:
    if label.endswith("*"):
        return any(each.startswith(label[:-1]) and thing in things for each, thing in known.items())
    return known.get(label) in things


def _given(role: str, step: Step) -> Iterator[tuple[str, Thing]]:
    if step.verb == "expect":
        for kind, argument in _expectations(step.argument):
            if role == "device" and kind == "push" and isinstance(argument, dict) and "as" in argument:
                yield str(argument["as"]), Thing.SENT
        return
    thing = _NAMING.get((role, step.verb))
    if thing is None:
        return
    for argument in step.argument if isinstance(step.argument, list) else [step.argument]:
        if isinstance(argument, dict):
            for label in _names_of(step.verb, argument):
                yield label, thing


def _names_of(verb: str, argument: Mapping[str, Value]) -> Iterator[str]:
    label, count = str(argument["as"]), argument.get("count")
    if verb.endswith("_many") and isinstance(count, int):
        yield from (f"{label}-{number}" for number in range(1, count + 1))
    else:
        yield label


def _uses_of(role: str, step: Step) -> Iterator[tuple[str, tuple[Thing, ...]]]:
    yield from _labels(_USING.get((role, step.verb), ()), step.argument)


def _uses_of_expect(role: str, argument: Value) -> Iterator[tuple[str, tuple[Thing, ...]]]:
    for kind, inner in _expectations(argument):
        yield from _labels(_EXPECTING.get((role, kind), ()), inner)


def _expectations(argument: Value) -> Iterator[tuple[str, Value]]:
    """Kind and argument of each expectation, those inside `any_of` included."""
    if not isinstance(argument, dict):
        return
    for kind, inner in argument.items():
        if kind == "any_of" and isinstance(inner, list):
            for alternative in inner:
                for each in alternative if isinstance(alternative, list) else []:
                    yield from _expectations(each)
        else:
            yield kind, inner


def _labels(uses: tuple[_Use, ...], argument: Value) -> Iterator[tuple[str, tuple[Thing, ...]]]:
    for use in uses:
        fields = argument if isinstance(argument, dict) else {"": argument}
        value = fields.get(use.field)
        for label in value if isinstance(value, list) else [value]:
            if isinstance(label, str):
                yield label, use.things
