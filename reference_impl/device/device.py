"""The Device: its API, and the doors through which the relay, the handler and the time come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.device.checks import Checks
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.effects import (
    Connection,
    Effect,
    PushAnswer,
    SessionAnswer,
    Status,
)
from reference_impl.device.errors import ApiError, closed, not_member, payload_too_large
from reference_impl.device.identity import new_identity
from reference_impl.device.limits import Limits
from reference_impl.device.membership import Membership
from reference_impl.device.notices import Notices
from reference_impl.device.options import Build, Options, Provision
from reference_impl.device.outbox import Outbox
from reference_impl.device.pairing import Pairing
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Store
from reference_impl.wire.content import Codec, Member, Tag
from reference_impl.wire.json_types import Json


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    status: Status
    me: Member
    members: tuple[Member, ...]
    connection: Connection


class Device:
    """One open Device on one store. No socket, thread, clock or sleep: calls in, effects out.

    Call `take_effects` after every call and carry them out in order. Each call may raise `ApiError`, and `Crash`
    where the store was told to die: then this object is to be dropped, and the store kept.
    A part or a limit is replaced by a subclass that names another one.
    """

    limits: Limits = Limits()
    notices_class: type[Notices] = Notices
    connection_class: type[ConnectionTracker] = ConnectionTracker
    session_state_class: type[SessionState] = SessionState
    outbox_class: type[Outbox] = Outbox
    dedup_class: type[DedupTable] = DedupTable
    checks_class: type[Checks] = Checks
    receive_session_class: type[ReceiveSession] = ReceiveSession
    recipient_class: type[Recipient] = Recipient
    membership_class: type[Membership] = Membership
    pairing_class: type[Pairing] = Pairing

    def __init__(
        self,
        store: Store,
        codec: Codec,
        random_bytes: Callable[[int], bytes],
        now: int,
        options: Options | None = None,
    ) -> None:
        """Open on `store`. `now` is in Unix ms, `random_bytes` gives that many fresh bytes."""
        self.options = options if options is not None else Options()
        self.context = Context(store, codec, random_bytes, now, self._build())
        self._make_parts()
        self._connect_parts()
        self._closed = False
        self._handles = 0
        self._start()

    def _build(self) -> Build:
        options = self.options
        return Build(self.limits, options.end_to_end_version, options.transport_version)

    def _make_parts(self) -> None:
        context = self.context
        self.notices = self.notices_class(context)
        self.connection = self.connection_class(self.notices)
        self.state = self.session_state_class(context)
        self.outbox = self.outbox_class(context, self.state, self.notices, self.connection)
        self.dedup = self.dedup_class(context)
        self.checks = self.checks_class(context, self.state, self.dedup)
        self.session = self.receive_session_class(context, self.state, self.connection)
        self.recipient = self.recipient_class(context, self.notices, self.session, self.checks, self.dedup)
        self.membership = self.membership_class(context, self.state, self.notices, self.outbox)
        self.pairing = self.pairing_class(context, self.state, self.notices, self.outbox, self.membership)

    def _connect_parts(self) -> None:
        self.outbox.set_departure(self.membership)
        self.membership.on_wipe(self.pairing.close_window, self.recipient.start_over)
        self.membership.on_departure(self.recipient.departed)
        self.checks.set_judges(
            {
                Tag.PAIR: self.pairing.judge_pair,
                Tag.REVOKE: self.membership.judge_revoke,
                Tag.GROUP_MANIFEST: self.membership.judge_manifest,
            }
        )

    def _start(self) -> None:
        """Take up Session State where the last run left it, whatever ended that run."""
        if not self.state.load():
            self._begin()
        self.membership.upgrade()
        self.outbox.load()
        self.membership.finish_departure()
        self.outbox.expire()

    def _begin(self) -> None:
        provision = self.options.provision
        if provision is None:
            provision = Provision(new_identity(self.context.random_bytes), None)
        self.membership.provision(provision.identity, provision.manifest)

    # Effects and time

    def take_effects(self) -> list[Effect]:
        """What to carry out now, in order. Each is given once."""
        effects = self.context.effects[:]
        self.context.effects.clear()
        return effects

    def advance(self, now: int) -> None:
        """Set the time (Unix ms, never backwards) and do what is due by it."""
        self.context.now = max(now, self.context.now)
        if not self._closed:
            self.outbox.tick()
            self.recipient.tick()

    def next_timer(self) -> int | None:
        """The earliest moment (Unix ms) at which `advance` will have something to do."""
        if self._closed:
            return None
        timers = (self.outbox.next_timer(), self.recipient.next_timer())
        return min((timer for timer in timers if timer is not None), default=None)

    # The API

    def on_message(self) -> str:
        """Register the one handler, which starts receiving. Returns its cancel handle (RCV-001, RCV-002)."""
        self._require_open()
        if self.recipient.has_handler:
            raise ApiError("messageHandlerAlreadySet")
        handle = self._new_handle()
        self.recipient.set_handler(handle)
        return handle

    def on_event(self) -> str:
        self._require_open()
        handle = self._new_handle()
        self.notices.event_listeners.add(handle)
        return handle

    def on_delivery_issue(self) -> str:
        self._require_open()
        handle = self._new_handle()
        self.notices.issue_listeners.add(handle)
        return handle

    def cancel(self, handle: str) -> None:
        """Undo an `on_…` call. A handle that is not known any more does nothing."""
        self._require_open()
        self.recipient.cancel_handler(handle)
        self.notices.event_listeners.cancel(handle)
        self.notices.issue_listeners.cancel(handle)

    def send(self, body: bytes) -> str:
        """Return the Message ID once every other member's entry is durable (SND-001, SND-002)."""
        self._require_open()
        self.check_sendable(body)
        with self.context.store.transaction():
            sequence = self.state.take_sequence()
            entries = self.outbox.stage("sync", self.recipients(), body, sequence)
        self.outbox.queue(entries)
        self.outbox.pump()
        return self.state.message_id(sequence)

    def check_sendable(self, body: bytes) -> None:
        """Before anything is written (SND-003, SND-005)."""
        if self.state.status != "member":
            raise not_member(self.state.status)
        if len(body) > self.max_payload_bytes():
            raise payload_too_large(self.max_payload_bytes())

    def max_payload_bytes(self) -> int:
        """The limit in force: a lower one holds, a higher one is clamped (SND-004)."""
        constant = self.limits.max_payload_bytes
        chosen = self.options.max_payload_bytes
        return constant if chosen is None else min(chosen, constant)

    def recipients(self) -> list[str]:
        """The Noise keys of every other current member (SND-001)."""
        return [member.noise_pub for member in self.state.others()]

    def status(self) -> DeviceStatus:
        self._require_open()
        return DeviceStatus(self.state.status, self.state.me, self.state.others(), self.connection.current)

    def close(self) -> None:
        """Stop. Session State stays, every later call fails with `closed` (SND-006)."""
        self._require_open()
        self._closed = True

    def start_pairing(self) -> str:
        """Open a Pairing Window. Returns the Pairing Token."""
        self._require_open()
        return self.pairing.start_pairing()

    def accept(self, request: str) -> None:
        self._require_open()
        self.pairing.accept(request)

    def cancel_pairing(self) -> None:
        self._require_open()
        self.pairing.close_window()

    def join(self, pairing_token: str) -> None:
        self._require_open()
        self.pairing.join(pairing_token)

    def cancel_join(self) -> None:
        self._require_open()
        self.pairing.cancel_join()

    def remove(self, member: str) -> None:
        self._require_open()
        self.membership.remove(member)

    def leave(self) -> None:
        self._require_open()
        self.membership.leave()

    def destroy_group(self) -> None:
        self._require_open()
        self.membership.destroy_group()

    def _require_open(self) -> None:
        if self._closed:
            raise closed()

    def _new_handle(self) -> str:
        self._handles += 1
        return f"handle-{self._handles}"

    # From the relay and the app. What comes after `close` comes too late and does nothing.

    def relay_connected(self) -> None:
        """The relay is in reach: the reconnect of the contract (SND-010, SND-022)."""
        if not self._closed:
            self.connection.connected()
            self.session.connected()
            self.outbox.connected()

    def relay_disconnected(self) -> None:
        if not self._closed:
            self.connection.disconnected()
            self.recipient.disconnected()
            self.outbox.disconnected()

    def session_answered(self, request: int, answer: SessionAnswer) -> None:
        if not self._closed:
            self.session.answered(request, answer)

    def push_answered(self, request: int, answer: PushAnswer) -> None:
        if not self._closed:
            self.outbox.answered(request, answer)

    def blob_delivered(self, session: str, blob_id: str, envelope: Json) -> None:
        if not self._closed:
            self.recipient.deliver(session, blob_id, envelope)

    def handler_ended(self, request: int, error: str | None) -> None:
        """`error` is what the handler threw, None if it returned."""
        if not self._closed:
            self.recipient.handler_ended(request, error)
