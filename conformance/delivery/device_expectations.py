"""What a vector can expect of a device: one method a kind, as `vectors/README.md` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.delivery.control_pushes import manifest_fault
from conformance.delivery.device_records import (
    DeliverAcked,
    EventRaised,
    HandlerCalled,
    IssueRaised,
    Pushed,
    SessionOpened,
)
from conformance.delivery.device_stimuli import DeviceStimuli
from conformance.delivery.device_world import DeviceWorld
from conformance.delivery.life import EPOCH, Killed
from conformance.durations import by_words
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.engine.world import Expectation, Matcher, Query
from conformance.outcome import SpecBrokenError, VectorError
from conformance.printable import flow
from reference_impl.wire.content import Tag
from reference_impl.wire.json_types import Json

TAGS: Mapping[str, int] = {
    "pair": Tag.PAIR,
    "sync": Tag.SYNC,
    "revoke": Tag.REVOKE,
    "manifest": Tag.GROUP_MANIFEST,
    "leave": Tag.GROUP_MANIFEST,
}


class DeviceExpectations:
    def __init__(self, world: DeviceWorld, stimuli: DeviceStimuli) -> None:
        self.world = world
        self.stimuli = stimuli
        self.table: Mapping[str, Expectation] = {
            "push": self.push,
            "handler_called": self.handler_called,
            "deliver_ack": self.deliver_ack,
            "issue": self.issue,
            "event": self.event,
            "session_opened": self.session_opened,
            "died": self.died,
        }
        self.queries: Mapping[str, Query] = {
            "status": self.status,
            "members": self.members,
            "connection": self.connection,
            "identity": self.identity,
        }
        me = world.group.alice
        self._identities = [(me.noise_pub, me.signing_pub)]

    # -- observations -------------------------------------------------------------------------------------------

    def push(self, argument: Argument) -> Sequence[Matcher]:
        if not argument.value:
            return _any(Pushed, "any push")
        if "tag" in argument:
            return [Matcher(_control_words(argument), self._control_push(argument), self._nearly(argument))]
        to = argument.text("to", "")
        labels = self._sent_labels(argument)
        where = f" to {to}" if to else ""
        return [Matcher(f"push of {label}{where}", self._push_of(label, to, argument)) for label in labels]

    def _push_of(self, label: str, to: str, argument: Argument) -> Callable[[Record], bool]:
        def matches(record: Record) -> bool:
            return (
                isinstance(record, Pushed)
                and to in ("", record.recipient)
                and self._is_message(label, record)
                and self._stamped(argument, record)
            )

        return matches

    def _is_message(self, label: str, pushed: Pushed) -> bool:
        named = self.world.named_pushes.get(label)
        if named is not None:
            return named.message_id == pushed.message_id
        sent = self.world.sent.get(label)
        if sent is None:
            raise VectorError(f"nothing that was sent is called {label}")
        if not sent.message_id and sent.body == pushed.body and not self._is_known(pushed):
            sent.message_id = pushed.message_id
        return sent.message_id == pushed.message_id and sent.body == pushed.body

    def _is_known(self, pushed: Pushed) -> bool:
        return any(each.message_id == pushed.message_id for each in self.world.sent.values())

    def _control_push(self, argument: Argument) -> Callable[[Record], bool]:
        kind, to = argument.text("tag"), argument.text("to", "")

        def matches(record: Record) -> bool:
            if not isinstance(record, Pushed) or record.tag != TAGS[kind] or to not in ("", record.recipient):
                return False
            if not (self._right_manifest(kind, argument, record) and self._stamped(argument, record)):
                return False
            if "as" in argument:
                self.world.named_pushes[argument.text("as")] = record
            return True

        return matches

    def _right_manifest(self, kind: str, argument: Argument, pushed: Pushed) -> bool:
        return TAGS[kind] != Tag.GROUP_MANIFEST or not self._manifest_fault(argument, pushed)

    def _manifest_fault(self, argument: Argument, pushed: Pushed) -> str:
        members = argument.texts("members") if "members" in argument else None
        is_leave = argument.text("tag") == "leave"
        return manifest_fault(pushed, leave=is_leave, members=members, group=self.world.group)

    def _nearly(self, argument: Argument) -> Callable[[Record], str]:
        """Why a push with that tag to that recipient is not the one wanted; empty for any other record."""
        kind, to = argument.text("tag"), argument.text("to", "")

        def why_not(record: Record) -> str:
            if not isinstance(record, Pushed) or record.tag != TAGS[kind] or to not in ("", record.recipient):
                return ""
            what = f"the {'manifest' if TAGS[kind] == Tag.GROUP_MANIFEST else kind.capitalize()}"
            fault = self._manifest_fault(argument, record) if TAGS[kind] == Tag.GROUP_MANIFEST else ""
            if not fault and not self._stamped(argument, record):
                fault = f"is stamped {by_words(record.sender_timestamp - EPOCH)} after the start"
            return f"{what} pushed to {record.recipient} {fault}" if fault else ""

        return why_not

    def _stamped(self, argument: Argument, pushed: Pushed) -> bool:
        if "stamped" not in argument:
            return True
        stamped = argument.inner("stamped", "min")
        low = stamped.duration("min")
        high = stamped.duration("max", stamped.text("min"))
        return low <= pushed.sender_timestamp - EPOCH <= high

    def handler_called(self, argument: Argument) -> Sequence[Matcher]:
        if not argument.value:
            return _any(HandlerCalled, "any handler call")
        return [self._handler_matcher(label) for label in self._blob_labels(argument)]

    def _handler_matcher(self, label: str) -> Matcher:
        message_id = self.stimuli.message_id(label)
        return Matcher(
            f"handler called for {label}",
            lambda record: isinstance(record, HandlerCalled) and record.message_id == message_id,
        )

    def deliver_ack(self, argument: Argument) -> Sequence[Matcher]:
        if not argument.value:
            return _any(DeliverAcked, "any DeliverAck")
        return [self._ack_matcher(label) for label in self._blob_labels(argument)]

    def _ack_matcher(self, label: str) -> Matcher:
        return Matcher(
            f"DeliverAck for {label}",
            lambda record: isinstance(record, DeliverAcked) and record.label == label,
        )

    def issue(self, argument: Argument) -> Sequence[Matcher]:
        message_id = self.stimuli.message_id(argument.text("of")) if "of" in argument else ""
        wanted = {name: argument.get(name) for name in argument if name not in ("of", "error", "whole")}
        error = argument.text("error", "")

        def matches(record: Record) -> bool:
            return (
                isinstance(record, IssueRaised)
                and all(record.details.get(name) == value for name, value in wanted.items())
                and error in str(record.details.get("error", ""))
                and message_id in ("", record.details.get("message_id"))
            )

        return [Matcher(self._words("issue", argument), matches)]

    def event(self, argument: Argument) -> Sequence[Matcher]:
        wanted = {name: argument.get(name) for name in argument if name != "from"}
        peer = argument.text("from", "")

        def matches(record: Record) -> bool:
            return (
                isinstance(record, EventRaised)
                and peer in ("", record.peer)
                and all(record.details.get(name) == value for name, value in wanted.items())
            )

        return [Matcher(self._words("event", argument), matches)]

    def session_opened(self, argument: Argument) -> Sequence[Matcher]:
        outcome = argument.text("outcome", "opened")
        return [
            Matcher(
                f"Receive Session {outcome}",
                lambda record: isinstance(record, SessionOpened) and record.outcome == outcome,
            )
        ]

    def died(self, _: Argument) -> Sequence[Matcher]:
        return [Matcher("the process dies at the write", lambda record: isinstance(record, Killed))]

    # -- state --------------------------------------------------------------------------------------------------

    def status(self, argument: Argument) -> None:
        self._compare("status", argument.text("of"), self.world.status()["status"])

    def members(self, argument: Argument) -> None:
        listed = self.world.status()["members"]
        names = (
            sorted(self.world.group.name_shown_as(str(each["name"])) for each in listed if isinstance(each, Mapping))
            if isinstance(listed, list)
            else []
        )
        self._compare("members", sorted(argument.texts("of")) if argument.value else [], names)

    def connection(self, argument: Argument) -> None:
        connection = self.world.status()["connection"]
        fields = connection if isinstance(connection, Mapping) else {}
        wanted = {("state" if name == "of" else name): argument.get(name) for name in argument}
        self._compare("connection", wanted, {name: fields.get(name) for name in wanted})

    def identity(self, argument: Argument) -> None:
        """CTL-005: `new` has neither a Noise nor a signing key that the device had before; `kept` has both."""
        me = self.world.ask_identity()
        keys = (me.noise_pub, me.signing_pub)
        if argument.text("of") == "kept":
            self._compare("identity", self._identities[-1], keys)
            return
        old = {key for each in self._identities for key in each} & set(keys)
        if old:
            raise SpecBrokenError(
                "the device goes on with a key of its old identity",
                expected="a new Noise key and a new signing key",
                observed=f"key {', '.join(sorted(old))} again",
                clause="CTL-005",
            )
        self._identities.append(keys)

    def _compare(self, what: str, wanted: Json, got: Json) -> None:
        if wanted != got:
            raise SpecBrokenError(
                f"{what} is not what it must be", expected=f"{what}: {flow(wanted)}", observed=f"{what}: {flow(got)}"
            )

    # -- inside -------------------------------------------------------------------------------------------------

    def _blob_labels(self, argument: Argument) -> list[str]:
        return self.stimuli.labels(_texts(argument))

    def _sent_labels(self, argument: Argument) -> list[str]:
        found: list[str] = []
        for label in _texts(argument):
            if label.endswith("-*"):
                found += [each for each in self.world.sent if each.startswith(label[:-1])]
            else:
                found.append(label)
        return found

    def _words(self, kind: str, argument: Argument) -> str:
        return f"{kind} " + ", ".join(f"{name}: {argument.get(name)}" for name in argument)


def _any(kind: type[Record], text: str) -> Sequence[Matcher]:
    return [Matcher(text, lambda record: isinstance(record, kind))]


def _texts(argument: Argument) -> list[str]:
    value = argument.value
    if isinstance(value, list):
        return [str(each) for each in value]
    return argument.texts("of")


def _control_words(argument: Argument) -> str:
    kind = argument.text("tag")
    name = {"manifest": "Group Manifest"}.get(kind, kind.capitalize())
    words = f"push of a {name}"
    if "to" in argument:
        words += f" to {argument.text('to')}"
    if "members" in argument:
        words += f" with the members {', '.join(argument.texts('members'))}"
    if "stamped" in argument:
        stamped = argument.inner("stamped", "min")
        low = stamped.text("min")
        words += f", stamped {low} to {stamped.text('max', low)} after the start"
    return words
