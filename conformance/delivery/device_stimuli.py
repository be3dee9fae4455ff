"""What a vector can do to a device: one method a verb, as `vectors/README.md` lists them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from conformance.delivery.device_records import Called, CallFailed, SendReturned
from conformance.delivery.device_world import DeviceWorld, RunningHandler, Sent
from conformance.delivery.kit_relay import Blob, PushAnswer, WaitingPush
from conformance.delivery.peers import Peer, key, peer
from conformance.delivery.sealing import Sealing, seal
from conformance.engine.argument import Argument
from conformance.engine.world import Stimulus
from conformance.outcome import ApiError, DriverDiedError, SpecBrokenError, VectorError
from conformance.printable import flow
from reference_impl.wire.content import Content, Tag
from reference_impl.wire.json_types import Json, JsonObject


class DeviceStimuli:
    """Holds no state of its own."""

    def __init__(self, world: DeviceWorld) -> None:
        self.world = world
        self.table: Mapping[str, Stimulus] = {
            "register_handler": self.register_handler,
            "cancel_handler": self.cancel_handler,
            "register_issue_listener": self._caller("on_delivery_issue"),
            "register_event_listener": self._caller("on_event"),
            "send": self.send,
            "send_many": self.send_many,
            "deliver": self.deliver,
            "deliver_many": self.deliver_many,
            "deliver_again": self.deliver_again,
            "deliver_copy": self.deliver_copy,
            "handler_returns": self.handler_returns,
            "handler_throws": self.handler_throws,
            "handler": self.set_handler,
            "pushes": self.set_pushes,
            "acks": self.set_acks,
            "ack_push": self.ack_push,
            "refuse_push": self.refuse_push,
            "lose_push": self.lose_push,
            "connect": lambda _: world.connect(),
            "disconnect": lambda _: world.disconnect(),
            "relay_key": lambda argument: world.set_relay_key(right=argument.text("of") == "right"),
            "kill": lambda _: world.kill(),
            "start": world.start,
            "restart": self.restart,
            "close": lambda _: self.close(),
            "relay_version": self.relay_version,
            "crash_at_write": self.crash_at_write,
            "start_pairing": self.start_pairing,
            "cancel_pairing": self._caller("cancel_pairing"),
            "cancel_join": self._caller("cancel_join"),
            "leave": self._depart("leave", "leaving"),
            "destroy_group": self._depart("destroy_group", "destroying"),
            "join": self.join,
            "accept": self.accept,
            "remove": self.remove,
            "status_call": self._caller("status"),
        }

    # -- the app ------------------------------------------------------------------------------------------------

    def register_handler(self, argument: Argument) -> None:
        result = self._call("on_message", {}, argument)
        if result is not None:
            self.world.handle = str(result.get("handle", ""))
            self.world.handler_registered = self.world.had_handler = True

    def cancel_handler(self, argument: Argument) -> None:
        self._call("cancel", {"handle": self.world.handle}, argument)
        self.world.handler_registered = False

    def send(self, argument: Argument) -> None:
        label = argument.text("as")
        self._send(label, argument.body("body", label), argument)

    def send_many(self, argument: Argument) -> None:
        prefix = argument.text("as")
        for number in range(1, argument.number("count") + 1):
            self._send(f"{prefix}-{number}", f"{prefix}-{number}".encode(), argument)
            self.world.settle()

    def _send(self, label: str, body: bytes, argument: Argument) -> None:
        world = self.world
        if label in world.sent:
            raise VectorError(f"two messages are called {label}")
        sent = world.sent[label] = Sent(label, body)
        params: JsonObject = {"body": base64.b64encode(body).decode("ascii")}
        world.expects_death = world.expects_death or argument.flag("cut")
        result = self._call("send", params, argument, f"{label}, {len(body)} bytes")
        if result is not None:
            sent.message_id = str(result["message_id"])
            world.record(
                SendReturned(
                    at=world.at,
                    step=world.step,
                    label=label,
                    body=body,
                    message_id=sent.message_id,
                    recipients=world.group.lasting(),
                )
            )
        elif world.system.running:
            del world.sent[label]

    def close(self) -> None:
        self._called("close", "")
        self.world.close()

    def restart(self, argument: Argument) -> None:
        world = self.world
        world.close()
        world.options = world.options.changed(argument)
        world.open()

    def crash_at_write(self, argument: Argument) -> None:
        when = argument.text("when", "before")
        self.world.call("crash.at_write", {"write": argument.number("write", 1), "when": when})
        self.world.expects_death = True

    # -- the handler --------------------------------------------------------------------------------------------

    def handler_returns(self, argument: Argument) -> None:
        self.world.end_handler(self._running(argument.text("of")))

    def handler_throws(self, argument: Argument) -> None:
        self.world.end_handler(self._running(argument.text("of")), argument.text("error", "the app threw"))

    def set_handler(self, argument: Argument) -> None:
        self.world.handler = argument.text("of")

    def _running(self, label: str) -> RunningHandler:
        message_id = self.message_id(label)
        for running in self.world.handlers:
            if running.message_id == message_id:
                return running
        raise SpecBrokenError(
            f"no handler runs for {label}, so it cannot end",
            expected=f"a handler that was called for {label} and has not ended",
            observed="none",
        )

    def message_id(self, label: str) -> str:
        blob = self.world.relay.blobs.get(label)
        if blob is not None:
            return blob.content.message_id
        if label in self.world.named_pushes:
            return self.world.named_pushes[label].message_id
        if label in self.world.sent:
            return self.world.sent[label].message_id
        raise VectorError(f"no message is called {label}")

    # -- the relay ----------------------------------------------------------------------------------------------

    def set_pushes(self, argument: Argument) -> None:
        self.world.relay.answer_pushes(Argument(argument.value, "answer"))

    def set_acks(self, argument: Argument) -> None:
        self.world.relay.acks_arrive = argument.text("of") == "arrive"

    def ack_push(self, argument: Argument) -> None:
        self.world.answer_push(self._waiting(argument), {"outcome": "ack"})

    def refuse_push(self, argument: Argument) -> None:
        answer = PushAnswer("refused", argument.text("code"))
        self.world.answer_push(self._waiting(argument), answer.message())

    def lose_push(self, argument: Argument) -> None:
        self.world.answer_push(self._waiting(argument), {"outcome": "lost"})

    def relay_version(self, argument: Argument) -> None:
        self.world.relay.versions = (argument.number("min"), argument.number("max"))
        self.world.tell_versions()

    def _waiting(self, argument: Argument) -> WaitingPush:
        label, to = argument.text("of"), argument.text("to", "")
        waiting = self.world.relay.take_waiting(self.message_id(label), to)
        if waiting is None:
            what = f"push of {label}{' to ' + to if to else ''}"
            raise SpecBrokenError(
                f"no {what} waits for an answer", expected=f"a {what} without an answer", observed="none"
            )
        return waiting

    # -- blobs --------------------------------------------------------------------------------------------------

    def deliver(self, argument: Argument) -> None:
        sender = self.world.group.peers[argument.text("from", "bob")]
        label = argument.text("as")
        sequence = argument.number("sequence") if "sequence" in argument else sender.next_sequence()
        tag, body = self._tag_and_body(argument, sender, label)
        content = Content(
            author_pub=sender.signing_pub,
            sequence=sequence,
            sender_timestamp=self.world.now + argument.duration("sent"),
            tag=tag,
            body=body,
        )
        self._arrive(label, sender, content, argument)

    def deliver_many(self, argument: Argument) -> None:
        prefix = argument.text("as")
        for number in range(1, argument.number("count") + 1):
            one = Argument({**self._fields(argument), "as": f"{prefix}-{number}"})
            self.deliver(one)

    def deliver_copy(self, argument: Argument) -> None:
        original = self.world.relay.blobs.get(argument.text("of"))
        if original is None:
            raise VectorError(f"no blob is called {argument.text('of')}")
        content = original.content
        if "sent" in argument:
            timestamp = self.world.now + argument.duration("sent")
            content = replace(content, sender_timestamp=timestamp)
        if "body" in argument:
            content = replace(content, body=argument.body("body", ""))
        sender = self.world.group.peers[original.sender]
        same = None if argument.flag("resealed", default=True) else original.envelope
        if same is not None:
            argument = Argument({**self._fields(argument), "fault": original.fault, "version": original.version})
        self._arrive(argument.text("as"), sender, content, argument, same)

    def deliver_again(self, argument: Argument) -> None:
        self.world.refresh_identity()
        for label in self.labels(argument.texts("of")):
            blob = self.world.relay.blobs[label]
            if blob.recipient_pub != self.world.group.alice.noise_pub:
                continue  # it was for who the device was before a wipe, and nobody asks for that inbox any more
            session = self._session(blob)
            if not session:
                continue
            if not self.world.case.hostile:
                self._check_keeps_spec(blob, session)
            self.world.send_blob(blob, session)

    def labels(self, wanted: Sequence[str]) -> list[str]:
        """The blobs of these labels; `PREFIX-*` stands for all of them in arrival order."""
        known = self.world.relay.blobs
        found: list[str] = []
        for label in wanted:
            several = [each for each in known if fnmatchcase(each, label)] if "*" in label else [label]
            if not several or several[0] not in known:
                raise VectorError(f"no blob is called {label}")
            found += several
        return found

    def _check_keeps_spec(self, blob: Blob, session: str) -> None:
        """What a relay that keeps the spec cannot do, the device brought about: an ack too early, no new session."""
        if blob.acked:
            raise SpecBrokenError(
                f"{blob.label} was acked already, so the relay does not send it again",
                expected=f"no DeliverAck for {blob.label} yet",
                observed=f"DeliverAck for {blob.label}",
            )
        if session in blob.sent_on:
            raise SpecBrokenError(
                f"the device has opened no new Receive Session, and {blob.label} was sent on this one",
                expected="a new Receive Session",
                observed=f"{session} still",
            )
        self.world.relay.check_order(blob, session)

    def _session(self, blob: Blob) -> str:
        """Where to send it; empty where the device is no longer the one that it is for, after a wipe."""
        session = self.world.relay.session_of(blob.recipient_pub)
        if not session and blob.recipient_pub == self.world.ask_identity().noise_pub:
            raise SpecBrokenError(
                "the device has no Receive Session open, so nothing can be delivered to it",
                expected="a Receive Session, since a handler is registered and the relay is in reach",
                observed="none",
                clause="RCV-001",
            )
        return session

    def _tag_and_body(self, argument: Argument, sender: Peer, label: str) -> tuple[int, bytes]:
        group = self.world.group
        if "pair" in argument:
            pair = argument.inner("pair", "token")
            joiner = group.peers[pair.text("of", sender.name)]
            return Tag.PAIR, group.pair_body(joiner, pair.text("token"))
        if "manifest" in argument:
            return Tag.GROUP_MANIFEST, group.manifest_body(argument.inner("manifest", "members"), sender.name)
        if "leave" in argument:
            return Tag.GROUP_MANIFEST, group.leave_body(sender.name)
        if "revoke" in argument:
            return Tag.REVOKE, b""
        return argument.number("tag", Tag.SYNC), argument.body("body", label)

    def _arrive(
        self,
        label: str,
        sender: Peer,
        content: Content,
        argument: Argument,
        envelope: Json = None,
    ) -> None:
        world = self.world
        world.refresh_identity()
        own_version = world.options.end_to_end_version
        version = argument.number("version", own_version)
        fault = argument.text("fault", "")
        recipient = world.group.alice.noise_pub
        sealing = Sealing(content, version, recipient, key(f"ephemeral of {label}"))
        blob = Blob(
            label=label,
            blob_id=world.relay.next_blob_id(),
            recipient_pub=recipient,
            sender=sender.name,
            envelope=envelope or seal(world.group.envelopes, sealing, fault),
            content=content,
            version=version,
            usable=not fault and content.tag in tuple(Tag) and world.member and world.group.is_member(sender.name),
            fault=fault,
        )
        world.relay.put(blob)
        session = world.relay.session_of(recipient)
        if session:
            if not world.case.hostile:
                world.relay.check_order(blob, session)
            if "cut_after" in argument:
                world.cut_blob(blob, session, argument.number("cut_after"))
            else:
                world.send_blob(blob, session)

    def _fields(self, argument: Argument) -> dict[str, Json]:
        return {name: argument.get(name) for name in argument if name != "count"}

    # -- membership ---------------------------------------------------------------------------------------------

    def start_pairing(self, argument: Argument) -> None:
        result = self._call("start_pairing", {}, argument)
        if result is not None:
            tokens = self.world.group.tokens
            if "current" in tokens:
                tokens["spent"] = tokens["closed"] = tokens["current"]
            tokens["current"] = str(result["pairing_token"])

    def join(self, argument: Argument) -> None:
        token = argument.text("token") if "token" in argument else self.world.group.token_of(argument.text("token_of"))
        self._call("join", {"pairing_token": token}, argument)

    def accept(self, argument: Argument) -> None:
        name = argument.text("request_of" if "request_of" in argument else "of")
        request = self.world.group.requests.get(name, f"no request of {name}")
        self._call("accept", {"request": request}, argument)

    def remove(self, argument: Argument) -> None:
        name = argument.text("member" if "member" in argument else "of")
        self._call("remove", {"member": self._member_id(name)}, argument)

    def _member_id(self, name: str) -> str:
        known = self.world.member_ids() if self.world.opened_now else {}
        return known.get(name) or key(f"member id of {peer(name).name}")

    # -- calls --------------------------------------------------------------------------------------------------

    def _caller(self, method: str) -> Stimulus:
        def call(argument: Argument) -> None:
            self._call(method, {}, argument)

        return call

    def _depart(self, method: str, status: str) -> Stimulus:
        def call(argument: Argument) -> None:
            was_member = self.world.member
            if self._call(method, {}, argument) is not None and was_member:
                # Whether the device says so by an event is open. What it says while the call runs comes first.
                self.world.member, self.world.departing = False, self.world.departing or status

        return call

    def _call(self, method: str, params: JsonObject, argument: Argument, shown: str | None = None) -> JsonObject | None:
        """Call the API; None if it failed as expected, or died as expected."""
        world = self.world
        self._called(method, _shown(argument) if shown is None else shown)
        try:
            result = world.system.call(method, params)
        except ApiError as error:
            failure = str(error.data.get("case"))
            world.record(CallFailed(at=world.at, step=world.step, method=method, failure=failure))
            self._check_failure(method, error.data, argument)
            return None
        except DriverDiedError:
            world.died()
            return None
        self._check_success(method, argument)
        return result

    def _called(self, method: str, shown: str) -> None:
        self.world.record(Called(at=self.world.at, step=self.world.step, method=method, argument=shown))

    def _check_success(self, method: str, argument: Argument) -> None:
        if "fails" in argument:
            raise SpecBrokenError(
                f"{method} succeeded, and it must fail",
                expected=f"{method} fails with {argument.get('fails')}",
                observed="success",
            )

    def _check_failure(self, method: str, data: JsonObject, argument: Argument) -> None:
        wanted = argument.get("fails")
        fields = wanted if isinstance(wanted, Mapping) else {}
        if not fields or any(data.get(name) != value for name, value in fields.items()):
            raise SpecBrokenError(
                f"{method} failed with {data.get('case')}",
                expected=f"{method} fails with {flow(fields)}" if fields else f"{method} succeeds",
                observed=f"error {flow(data)}",
            )


def _shown(argument: Argument) -> str:
    return ", ".join(str(argument.get(name)) for name in argument if name != "fails")
