"""The role `device`: the world around it, put together, and how it is killed everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.delivery.device_expectations import DeviceExpectations
from conformance.delivery.device_promises import PROMISES
from conformance.delivery.device_records import HandlerCalled, IssueRaised, PushAnswered, SendReturned
from conformance.delivery.device_stimuli import DeviceStimuli
from conformance.delivery.device_world import EPOCH, DeviceWorld
from conformance.engine.argument import Argument
from conformance.engine.record import Promise
from conformance.engine.world import Expectation, Query, Role, Stimulus
from conformance.outcome import SpecBrokenError
from conformance.system import System
from conformance.vector import Case

MINUTE = 60_000
RECOVERY = 10 * MINUTE
DAY = 86_400_000
OUTBOX_EXPIRY = 30 * DAY


class Device(DeviceWorld):
    """The world around a device, as the engine drives it."""

    epoch = EPOCH

    def __init__(self, case: Case, system: System, data_folder: str, kill_at: int) -> None:
        super().__init__(case, system, data_folder, kill_at)
        self._stimuli = DeviceStimuli(self)
        self._expectations = DeviceExpectations(self, self._stimuli)

    @property
    def stimuli(self) -> Mapping[str, Stimulus]:
        return self._stimuli.table

    @property
    def expectations(self) -> Mapping[str, Expectation]:
        return self._expectations.table

    @property
    def queries(self) -> Mapping[str, Query]:
        return self._expectations.queries

    @property
    def promises(self) -> Sequence[Promise]:
        return PROMISES

    def finish(self) -> None:
        """RCV-006: who a message is from has the id that `members` gives."""
        calls = [record for record in self.history if isinstance(record, HandlerCalled)]
        if not calls or not self.system.running or not self.opened_now:
            return
        ids = self.member_ids()
        for call in calls:
            known = ids.get(call.sender_name, call.sender_id)
            if known != call.sender_id:
                raise SpecBrokenError(
                    f"from.id of a message from {call.sender_name} is not its id in members",
                    expected=f"from.id {known}",
                    observed=f"from.id {call.sender_id}",
                    clause="RCV-006",
                )

    def recover(self) -> None:
        """Bring a killed device to rest: everything un-acked again, every push accepted, every handler returns."""
        had_handler = self.had_handler
        if self.system.running:
            self.kill()
        self.redelivers = True
        self.handler = "returns"
        self.relay.answer_pushes(Argument("ack", "answer"))
        self.relay.acks_arrive = True
        self.expects_death = False
        self.stop_killing()
        self.start(Argument({"connected": True}))
        if had_handler:
            self._stimuli.register_handler(Argument(None))
        self.settle()
        if "clock" in self.system.capabilities:
            self._wait(RECOVERY)
        self.refresh_identity()
        if self.member:
            self._check_sends()
        if had_handler:
            self._check_inbox()

    def _wait(self, duration: int) -> None:
        deadline = self.now + duration
        while self.now < deadline:
            timer = self.settle()
            self.move_clock(deadline if timer is None or timer <= self.now else min(timer, deadline))

    def _check_sends(self) -> None:
        """SND-001: what `send()` promised was pushed to every recipient, or reported as failed."""
        done = {
            (record.message_id, record.recipient)
            for record in self.history
            if isinstance(record, PushAnswered) and (record.outcome == "ack" or record.code in ("too_large", "malformed"))
        }
        failed = {
            record.details.get("message_id")
            for record in self.history
            if isinstance(record, IssueRaised) and record.case == "sendFailed"
        }
        for record in self.history:
            if not isinstance(record, SendReturned) or record.message_id in failed:
                continue
            if self.at - record.at >= OUTBOX_EXPIRY:
                continue
            for name in self.group.founding:
                if (record.message_id, name) not in done and self.group.is_member(name):
                    raise SpecBrokenError(
                        f"send({record.label}) returned before the crash, and {name} never gets the message",
                        expected=f"a push of {record.label} to {name}",
                        observed="none that the relay accepted",
                        clause="CRS-002",
                    )

    def _check_inbox(self) -> None:
        """CRS-004: what was delivered is handled or dropped, and acked."""
        own = self.options.end_to_end_version
        for blob in self.relay.unacked(self.group.alice.noise_pub):
            version = blob.envelope.get("end_to_end_version")
            if isinstance(version, int) and version > own:
                continue
            raise SpecBrokenError(
                f"{blob.label} stays in the inbox after the restart",
                expected=f"a DeliverAck for {blob.label}",
                observed="none",
                clause="CRS-004",
            )


DEVICE = Role(
    name="device",
    spec="delivery",
    schemas=("driver-common.json", "driver-device.json"),
    make_world=Device,
    swept=True,
)
