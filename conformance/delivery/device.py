"""The role `device`: the world around it, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.delivery.device_expectations import DeviceExpectations
from conformance.delivery.device_promises import PROMISES
from conformance.delivery.device_records import HandlerCalled, Pushed, tag_name
from conformance.delivery.device_recovery import Recovery
from conformance.delivery.device_stimuli import DeviceStimuli
from conformance.delivery.device_world import DeviceWorld
from conformance.delivery.life import EPOCH
from conformance.engine.record import Promise
from conformance.engine.world import Expectation, KillPoint, Query, Role, Stimulus
from conformance.outcome import SpecBrokenError
from conformance.system import System
from conformance.vector import Case


class Device(DeviceWorld):
    """The world around a device, as the engine drives it."""

    epoch = EPOCH

    def __init__(self, case: Case, system: System, data_folder: str, kill_point: KillPoint) -> None:
        super().__init__(case, system, data_folder, kill_point)
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
    def names(self) -> Mapping[str, str]:
        """The labels of messages by their Message ID; a control message without one is called by its kind."""
        known = {sent.message_id: label for label, sent in self.sent.items() if sent.message_id}
        known.update({pushed.message_id: label for label, pushed in self.named_pushes.items()})
        for label, blob in self.relay.blobs.items():
            known.setdefault(blob.content.message_id, label)
        for record in self.history:
            if isinstance(record, Pushed) and record.control:
                known.setdefault(record.message_id, f"the {tag_name(record.tag)}")
        return known

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
        Recovery(self, self._stimuli).run()


DEVICE = Role(
    name="device",
    spec="delivery",
    schemas=("driver-common.json", "driver-device.json"),
    make_world=Device,
    swept=True,
    needs=("provision",),
)
