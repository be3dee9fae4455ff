"""The world around a device under test: its life, what it asks of the relay and of the app, and the record of it."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.delivery.control_pushes import in_words
from conformance.delivery.device_records import (
    ALICE,
    CutOff,
    DeliverAcked,
    Delivered,
    EventRaised,
    HandlerCalled,
    HandlerEnded,
    IssueRaised,
    Network,
    PushAnswered,
    Pushed,
    RelayKey,
    SessionOpened,
    Started,
)
from conformance.delivery.group import Group
from conformance.delivery.kit_relay import Blob, KitRelay, WaitingPush
from conformance.delivery.life import EPOCH, ClockMoved, Killed
from conformance.delivery.peers import Peer
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.engine.world import NOWHERE, KilledHereError, KillPoint
from conformance.outcome import ApiError, DriverDiedError, SpecBrokenError, VectorError
from conformance.printable import flow
from conformance.system import Call, System
from conformance.vector import Case
from reference_impl.wire.content import Content, MalformedError
from reference_impl.wire.json_types import Json, JsonObject

WINDOW = 60 * 86_400_000
"""The Replay Window in ms: RPW-001."""
HOT = 40
"""So often may the same thing be tried again while the clock stands still; any backoff stays far below."""
DEPARTING = frozenset(("leaving", "destroying"))
OPEN_EVENTS = frozenset(("connectionChanged", "membersChanged"))
OWN_FIELDS = {
    "relay.push": frozenset(("recipient", "envelope", "transport_version")),
    "relay.deliver_ack": frozenset(("session", "blob_id")),
}


@dataclass(frozen=True, slots=True)
class Options:
    """How the device is opened: what may change from one start to the next."""

    end_to_end_version: int
    transport_version: int
    max_payload_bytes: int | None
    connected: bool
    listeners: bool

    def changed(self, argument: Argument) -> Options:
        size = argument.get("max_payload_bytes") if "max_payload_bytes" in argument else self.max_payload_bytes
        return Options(
            argument.number("end_to_end_version", self.end_to_end_version),
            argument.number("transport_version", self.transport_version),
            size if isinstance(size, int) else None,
            argument.flag("connected", self.connected),
            argument.text("listeners", "auto" if self.listeners else "manual") == "auto",
        )


@dataclass(slots=True)
class RunningHandler:
    call: int
    number: int
    message_id: str


@dataclass(slots=True)
class Sent:
    """A message that a `send` step asked for. `message_id` is empty while the call has not returned."""

    label: str
    body: bytes
    message_id: str = ""


class DeviceWorld:
    """One run of one vector against a device."""

    def __init__(self, case: Case, system: System, data_folder: str, kill_point: KillPoint = NOWHERE) -> None:
        self.case = case
        self.system = system
        self.history: list[Record] = []
        self.observed: list[Record] = []
        self.step = 0
        self.setup = Argument(case.setup)
        self.options = Options(1, 1, None, connected=True, listeners=True).changed(self.setup)
        self.member = self.setup.text("status", "member") == "member"
        members = self.setup.texts("members") if "members" in self.setup else ["bob", "carol"]
        self.departing = ""
        self.group = Group(members, self.options.end_to_end_version, plain=system.envelopes == "plain")
        self.relay = KitRelay()
        self.sent: dict[str, Sent] = {}
        self.named_pushes: dict[str, Pushed] = {}
        self.handlers: list[RunningHandler] = []
        self.handler = self.setup.text("handler", "holds")
        self.handler_registered = False
        self.handle = ""
        self.opened = False
        self.opened_now = False
        self.had_handler = False
        self.redelivers = False
        self.expects_death = False
        self._now = EPOCH
        self._data_folder = data_folder
        self.lives = 0
        self._kill_point = kill_point
        self._seen = 0
        self._settled = 0
        self._calls = 0
        self._pushes = 0
        self._at_this_instant: Counter[str] = Counter()
        self._identity_changed = False
        self._relay_is_right = True
        self._incoming: Mapping[str, Callable[[Call], None]] = {
            "relay.open_receive_session": self._open_receive_session,
            "relay.push": self._push,
            "relay.deliver_ack": self._deliver_ack,
            "handler.call": self._handler_call,
            "issue": self._issue,
            "event": self._event,
            "relay.version_refused": self._version_refused,
        }

    # -- time and quiet -----------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self._now

    @property
    def at(self) -> int:
        """Time since the start, in ms."""
        return self._now - EPOCH

    def settle(self) -> int | None:
        if not self.system.running:
            return None
        try:
            timer = self.system.settle() or self.system.timer_at(self._now)
        except DriverDiedError:
            self.died()
            return None
        self._settled = len(self.history)
        return timer

    @property
    def patience(self) -> float:
        return self.system.patience

    def await_more(self, seconds: float) -> bool:
        if seconds <= 0 or not self.system.running:
            return False
        try:
            return self.system.await_more(seconds)
        except DriverDiedError:
            self.died()
            return True

    def move_clock(self, now: int) -> None:
        by = now - self._now
        self.record(ClockMoved(at=self.at, step=self.step, by=by))
        self._now = now
        self._at_this_instant.clear()
        if self.system.running:
            try:
                self.system.advance(now, by)
            except DriverDiedError:
                self.died()
        self.settle()

    def tell_versions(self) -> None:
        """Over sockets the link refuses versions itself, before there is anything that a world could answer."""
        if "tcp" in self.system.capabilities:
            low, high = self.relay.versions
            self.system.notify("relay.versions", {"min": low, "max": high})

    # -- life ---------------------------------------------------------------------------------------------------

    def set_up(self) -> None:
        low_high = self.setup.inner("relay_version")
        self.relay.versions = (low_high.number("min", 1), low_high.number("max", 1))
        if "pushes" in self.setup:
            self.relay.answer_pushes(Argument(self.setup.get("pushes"), "answer"))
        self.open()

    def open(self) -> None:
        """Open the device on its folder; bring the relay into reach and register listeners as the options say."""
        self.system.listen(self)
        params: JsonObject = {
            "data_folder": self._data_folder,
            "now": self._now,
            "end_to_end_version": self.options.end_to_end_version,
            "transport_version": self.options.transport_version,
            "max_payload_bytes": self.options.max_payload_bytes,
            "provision": None if self.opened else self._provision(),
        }
        self.group.version = self.options.end_to_end_version
        self.expects_death = False
        self.record(Started(at=self.at, step=self.step, again=self.opened))
        self.handler_registered = False
        self.call("open", params)
        self.tell_versions()
        self.opened = self.opened_now = True
        self.lives += 1
        self._identity_changed = self._identity_changed or self.lives > 1
        self._arm()
        if self.options.listeners:
            self.call("on_event", {})
            self.call("on_delivery_issue", {})
        if self.options.connected:
            self.connect()

    def _arm(self) -> None:
        """For the crash sweep: let the device die at a durable write of this life."""
        point = self._kill_point
        if point.write and point.life == self.lives:
            self.call("crash.at_write", {"write": point.write, "when": point.when})
            self.expects_death = True

    def close(self) -> None:
        self.disconnect_sessions()
        self.call("close", {})
        self.opened_now = False
        self.handlers.clear()
        self.handler_registered = False

    def kill(self) -> None:
        """SIGKILL. One that died at its crash point already stays dead."""
        self.expects_death = False
        if not self.system.running:
            return
        self.system.kill()
        self.record(Killed(at=self.at, step=self.step, who=ALICE, settled=self._settled))
        self.gone()

    def died(self) -> None:
        """The process ended: right if it was told to at a crash point, an error otherwise."""
        if not self.expects_death:
            raise DriverDiedError("the driver ended, and nobody had asked for that")
        self.expects_death = False
        self.system.kill()
        self.see(Killed(at=self.at, step=self.step, who=ALICE, settled=self._settled, at_write=True))
        self.gone()
        if self._kill_point.write:
            raise KilledHereError

    def gone(self) -> None:
        self.relay.crash()
        self.handlers.clear()
        self.handler_registered = False

    def start(self, argument: Argument) -> None:
        if self.system.running:
            raise VectorError("start comes after kill; the device runs already")
        self.options = self.options.changed(argument)
        self.system.start()
        self.open()

    def connect(self) -> None:
        self.relay.connected = True
        self.record(Network(at=self.at, step=self.step, up=True))
        self.call("relay.connected", {})

    def disconnect(self) -> None:
        self.disconnect_sessions()
        self.call("relay.disconnected", {})

    def disconnect_sessions(self) -> None:
        self.relay.connected = False
        self.record(Network(at=self.at, step=self.step, up=False))
        self.relay.sessions.clear()
        for waiting in list(self.relay.waiting):
            self.relay.waiting.remove(waiting)
            self.answer_push(waiting, {"outcome": "lost"})

    def learn_status(self) -> None:
        """Ask the device what it is now: an event that would have said so may have died with it."""
        self.member = self.status().get("status") == "member"
        self._identity_changed = True
        self.refresh_identity()

    def stop_killing(self) -> None:
        """The sweep has done its work: from now on the device may live."""
        self._kill_point = NOWHERE

    def member_ids(self) -> dict[str, str]:
        listed = self.status()["members"]
        entries = listed if isinstance(listed, list) else []
        return {
            self.group.name_shown_as(str(each["name"])): str(each["id"])
            for each in entries
            if isinstance(each, Mapping)
        }

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, method: str, params: JsonObject) -> JsonObject:
        """A call that the vector does not expect to fail."""
        try:
            return self.system.call(method, params)
        except ApiError as error:
            raise SpecBrokenError(
                f"{method} failed with {error.data.get('case')}",
                expected=f"{method} succeeds",
                observed=f"error {flow(error.data)}",
            ) from None
        except DriverDiedError:
            self.died()
            return {}

    def status(self) -> JsonObject:
        return self.call("status", {})

    def refresh_identity(self) -> None:
        """After a wipe the device has new keys, and the kit's peers must know them."""
        if not self._identity_changed:
            return
        self._identity_changed = False
        self.ask_identity()

    def ask_identity(self) -> Peer:
        """Who the device says it is now."""
        alice = self.group.alice
        me = self.status()["me"]
        if isinstance(me, Mapping):
            alice.noise_pub, alice.signing_pub = str(me["noise_pub"]), str(me["signing_pub"])
        return alice

    # -- the record ---------------------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        """Something the kit did."""
        self.history.append(record)

    def see(self, record: Record) -> None:
        """Something the device did: for the expectations, too."""
        self.history.append(record)
        self.observed.append(record)
        self._seen += self.opened
        if self.opened and self._seen == self._kill_point.observation:
            raise KilledHereError

    def is_closed(self, record: Record) -> bool:
        if isinstance(record, SessionOpened):
            return False
        return not (isinstance(record, EventRaised) and record.case in OPEN_EVENTS)

    # -- what the device asks for -------------------------------------------------------------------------------

    def receive(self, call: Call) -> None:
        self._incoming[call.method](call)

    def _open_receive_session(self, call: Call) -> None:
        device = str(call.params["device"])
        version = call.params["transport_version"]
        if not self._relay_is_right:
            raise SpecBrokenError(
                "the device opens a Receive Session with a relay that proves another key than its Relay Address names",
                expected="no session with that relay",
                observed="a Receive Session",
                clause="SND-032",
            )
        self._count("opens a Receive Session", "SND-020")
        if not self.relay.connected:
            answer: JsonObject = {"outcome": "lost"}
        elif not (isinstance(version, int) and self.relay.speaks(version)):
            answer = self.relay.unsupported()
        else:
            answer = {"outcome": "opened", "session": self.relay.open_session(device)}
        session = str(answer.get("session", ""))
        self.see(SessionOpened(at=self.at, step=self.step, session=session, outcome=str(answer["outcome"])))
        self._answer(call, answer)
        if session:
            self._greet_session(device, session)

    def _version_refused(self, call: Call) -> None:
        """Over sockets a device is refused before it has said anything else."""
        kind = call.params["kind"]
        self._count(f"tries Transport Version {call.params['transport_version']} on the {kind} listener", "SND-020")
        if kind == "receive":
            self.see(SessionOpened(at=self.at, step=self.step, session="", outcome="unsupported"))

    def _greet_session(self, device: str, session: str) -> None:
        """Send what was never sent; what was sent before and not acked waits for `deliver_again`."""
        for blob in list(self.relay.unacked(device)):
            if self.redelivers or not blob.sent_on:
                self.send_blob(blob, session)

    def _push(self, call: Call) -> None:
        pushed = self._read_push(call.params)
        if self.relay.connected:
            self.see(pushed)
        else:  # it reaches nobody: a device may notice late that the relay is gone, and retry a lost push at once
            self.record(pushed)
        if pushed.problem:
            raise SpecBrokenError(
                f"the device pushed an Envelope to {pushed.recipient} that cannot be read: {pushed.problem}",
                expected="an Envelope that its recipient decrypts, signed by the device",
                observed=pushed.describe(),
                clause="SND-026",
            )
        self._check_version(pushed)
        version = call.params["transport_version"]
        is_spoken = isinstance(version, int) and self.relay.speaks(version)
        clause = "SND-011" if is_spoken else "SND-020"
        self._count(f"pushes {pushed.message_id} to {pushed.recipient}", clause)
        if call.number is None:
            return
        waiting = WaitingPush(pushed.push, call.number, pushed.message_id, pushed.recipient)
        answer = self.relay.answer_for(pushed.recipient)
        if not self.relay.connected:
            self.answer_push(waiting, {"outcome": "lost"})
        elif not is_spoken:
            self.answer_push(waiting, self.relay.unsupported())
        elif answer.outcome == "hold":
            self.relay.waiting.append(waiting)
        else:
            self.answer_push(waiting, answer.message())

    def _check_version(self, pushed: Pushed) -> None:
        own = self.options.end_to_end_version
        if pushed.version != own:
            raise SpecBrokenError(
                f"a push to {pushed.recipient} is sealed under End-to-End Version {pushed.version}, "
                f"and the device speaks {own}: its recipients drop what is older",
                expected=f"an Envelope of End-to-End Version {own}, whatever version it was queued under",
                observed=f"{pushed.describe()}, End-to-End Version {pushed.version}",
                clause="SND-021",
            )

    def answer_push(self, waiting: WaitingPush, answer: JsonObject) -> None:
        self.record(
            PushAnswered(
                at=self.at,
                step=self.step,
                push=waiting.push,
                message_id=waiting.message_id,
                recipient=waiting.recipient,
                outcome=str(answer["outcome"]),
                code=str(answer.get("code", "")),
            )
        )
        if self.system.running:
            self.system.answer(waiting.number, "relay.push", answer)

    def _read_push(self, params: JsonObject) -> Pushed:
        envelope = params["envelope"]
        recipient = str(params["recipient"])
        name = self.group.name_of(recipient)
        self._pushes += 1
        content, version, problem = self._open(envelope, recipient, name)
        shown = dict(self.group.envelopes.shown(envelope))
        if content.tag == 4:
            self.group.learn(content.body)
        return Pushed(
            at=self.at,
            step=self.step,
            push=self._pushes,
            message_id=content.message_id,
            recipient=name or recipient,
            author_pub=content.author_pub,
            sequence=content.sequence,
            sender_timestamp=content.sender_timestamp,
            tag=content.tag,
            body=content.body,
            version=version,
            ephemeral_pub=str(shown.pop("ephemeral_pub", "")),
            extra={**_extra("relay.push", params), **shown},
            group_id=self.group.group_id_of(content, version),
            problem=problem,
            control="" if problem else in_words(content, version, self.group),
            departing=self.departing,
        )

    def _open(self, envelope: Json, recipient: str, name: str) -> tuple[Content, int, str]:
        nothing = Content("0" * 64, 0, 0, 0, b"")
        if not name:
            return nothing, 0, "its recipient is no device that the kit knows"
        try:
            version = self.group.codec.version_of(envelope)
            sealed = self.group.codec.decrypt(envelope, recipient)
        except MalformedError as error:
            return nothing, 0, str(error)
        problem = "" if sealed.signature_valid else "its signature does not verify"
        return sealed.content, version, problem

    def _deliver_ack(self, call: Call) -> None:
        blob_id, session = str(call.params["blob_id"]), str(call.params["session"])
        blob = self.relay.blob_of(blob_id)
        is_open = session in self.relay.sessions
        arrives = is_open and self.relay.acks_arrive
        if blob is not None and arrives:
            blob.acked = True
        ack = DeliverAcked(
            at=self.at,
            step=self.step,
            label=blob.label if blob else "",
            blob_id=blob_id,
            session=session,
            message_id=blob.content.message_id if blob else "",
            extra=_extra("relay.deliver_ack", call.params),
            lost=not arrives,
        )
        if is_open:
            self.see(ack)
        else:
            self.record(ack)  # nobody gets it: neither harmful nor an ack

    def _handler_call(self, call: Call) -> None:
        message = call.params["message"]
        if not isinstance(message, Mapping) or call.number is None:
            return
        sender = message["from"]
        fields = sender if isinstance(sender, Mapping) else {}
        self._calls += 1
        running = RunningHandler(self._calls, call.number, str(message["id"]))
        self.handlers.append(running)
        self.see(
            HandlerCalled(
                at=self.at,
                step=self.step,
                call=running.call,
                message_id=running.message_id,
                sender_name=self.group.name_shown_as(str(fields.get("name"))),
                sender_id=str(fields.get("id")),
                body=base64.b64decode(str(message["body"])),
            )
        )
        if self.handler != "holds":
            self.end_handler(running, error="the app threw" if self.handler == "throws" else "")

    def end_handler(self, running: RunningHandler, error: str = "") -> None:
        self.handlers.remove(running)
        self.record(
            HandlerEnded(
                at=self.at,
                step=self.step,
                call=running.call,
                message_id=running.message_id,
                threw=bool(error),
            )
        )
        answer: JsonObject = {"outcome": "threw", "error": error} if error else {"outcome": "returned"}
        self.system.answer(running.number, "handler.call", answer)

    def _issue(self, call: Call) -> None:
        self.see(IssueRaised(at=self.at, step=self.step, case=str(call.params["case"]), details=dict(call.params)))

    def _event(self, call: Call) -> None:
        case = str(call.params["case"])
        if case == "statusChanged":
            self._identity_changed = True
            self.member = call.params["status"] == "member"
            self.departing = str(call.params["status"]) if call.params["status"] in DEPARTING else ""
        peer = self._requester(call.params) if case == "joinRequest" else ""
        self.see(EventRaised(at=self.at, step=self.step, case=case, details=dict(call.params), peer=peer))

    def _requester(self, params: JsonObject) -> str:
        """Who asks to join: the sender of the last Pair that was delivered."""
        request = params["request"]
        pairs = [blob for blob in self.relay.blobs.values() if blob.content.tag == 1]
        if not pairs or not isinstance(request, Mapping):
            return ""
        self.group.requests[pairs[-1].sender] = str(request["id"])
        return pairs[-1].sender

    # -- what the kit does to the device ------------------------------------------------------------------------

    def send_blob(self, blob: Blob, session: str) -> None:
        blob.sent_on.append(session)
        own_version = self.options.end_to_end_version
        self.record(
            Delivered(
                at=self.at,
                step=self.step,
                label=blob.label,
                blob_id=blob.blob_id,
                session=session,
                sender=blob.sender,
                message_id=blob.content.message_id,
                tag=blob.content.tag,
                group_id=self.group.group_id_of(blob.content, blob.version),
                sequence=blob.content.sequence,
                body=blob.content.body,
                usable=blob.usable
                and blob.version == own_version
                and self.now - blob.content.sender_timestamp <= WINDOW,
                newer=blob.version > own_version,
            )
        )
        self.system.notify("relay.deliver", {"session": session, "blob_id": blob.blob_id, "envelope": blob.envelope})

    def cut_blob(self, blob: Blob, session: str, size: int) -> None:
        """Send the beginning of a blob, over sockets. It was never sent, and is sent to the next session."""
        self.record(CutOff(at=self.at, step=self.step, label=blob.label, size=size))
        params: JsonObject = {"session": session, "blob_id": blob.blob_id, "envelope": blob.envelope, "bytes": size}
        self.system.notify("relay.cut", params)

    def set_relay_key(self, *, right: bool) -> None:
        """Over sockets."""
        self.record(RelayKey(at=self.at, step=self.step, right=right))
        self._relay_is_right = right
        self.system.notify("relay.key", {"right": right})

    # -- inside -------------------------------------------------------------------------------------------------

    def _provision(self) -> JsonObject:
        alice = self.group.alice
        identity: JsonObject = {
            "name": ALICE,
            "noise_pub": alice.noise_pub,
            "signing_pub": alice.signing_pub,
            "noise_private": alice.noise_private,
            "signing_private": alice.signing_private,
        }
        manifest = base64.b64encode(self.group.body).decode("ascii") if self.member else None
        return {"identity": identity, "manifest": manifest}

    def _answer(self, call: Call, result: JsonObject) -> None:
        if call.number is not None:
            self.system.answer(call.number, call.method, result)

    def _count(self, what: str, clause: str) -> None:
        """Find out a device that tries again and again although no time passes."""
        self._at_this_instant[what] += 1
        if self._at_this_instant[what] > HOT:
            raise SpecBrokenError(
                f"the device {what} again and again while the clock stands still",
                expected=f"at most {HOT} times at one instant",
                observed=f"{HOT + 1} times",
                clause=clause,
            )


def _extra(method: str, params: JsonObject) -> dict[str, Json]:
    return {name: value for name, value in params.items() if name not in OWN_FIELDS[method]}
