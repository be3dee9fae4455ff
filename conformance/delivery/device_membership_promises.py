"""What holds of every run of a device as member of a group: properties of the whole history."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.delivery.device_records import (
    Delivered,
    EventRaised,
    Pushed,
)
from conformance.delivery.group import PROVISIONED_GROUP
from conformance.delivery.life import Killed
from conformance.engine.record import Breach, History


def founding_is_told(history: History) -> Iterator[Breach]:
    """CTL-006: a device that founded a group says that it is a member, with the reason `created`, once for each group.

    Whether when pairing starts or at the first accept is open, and a killed device may have died before it said so.
    """
    if any(isinstance(record, Killed) for record in history):
        return
    known = {each.group_id for each in history if isinstance(each, Delivered)} | {PROVISIONED_GROUP}
    founded = {record.group_id: record for record in history if isinstance(record, Pushed)}
    groups = [record for group_id, record in founded.items() if group_id and group_id not in known]
    told = sum(isinstance(record, EventRaised) and record.details.get("reason") == "created" for record in history)
    if told < len(groups):
        yield Breach("CTL-006", "the device founded a group, and no event says that it is a member now", groups[-1])
