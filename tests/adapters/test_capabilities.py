"""What a driver cannot do is not run: never a fail, never an error, and never a pass for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from adapters.reference import device_driver, jsonrpc, relay_driver
from adapters.reference.in_process import Boot, boot_device, boot_relay
from conformance.catalogue import catalogue
from conformance.codec.world import codec_role
from conformance.drivers.in_process import InProcessLink, MessageMachine
from conformance.engine.run import Finding, Runner
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.system import System, Timeouts
from conformance.vector import ANY_ROLE
from reference_impl.device.device import Device
from reference_impl.relay.relay import Relay
from reference_impl.wire.json_types import JsonObject
from tests.kit import cases_of

METHODS = {
    "clock": ("clock.advance",),
    "settle": ("settle",),
    "crash_at_write": ("crash.at_write",),
    "store_fault": ("store.fail",),
    "codec": ("codec.encode_frame", "codec.decode_frame"),
    "pairing": ("start_pairing", "accept", "cancel_pairing", "join", "cancel_join", "remove", "leave", "destroy_group"),
}
"""What is not served without a capability. `restart`, `provision`, `upgrade` and `settings` have no method."""
SWEPT_WITHOUT = ("clock", "crash_at_write")
"""The crash sweep makes use of these where they are there; the others change nothing in it."""
BOOTS: dict[str, Callable[[], Boot]] = {"device": boot_device(Device), "relay": boot_relay(Relay)}
OFFERED = {"device": device_driver.CAPABILITIES, "relay": relay_driver.CAPABILITIES}
WITHHELD = [(role, capability) for role, offered in OFFERED.items() for capability in offered]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A driver that lists one capability less, and does not serve what belongs to it."""

    machine: MessageMachine
    capability: str

    def handle(self, message: JsonObject) -> list[JsonObject]:
        method, number = message.get("method"), message.get("id")
        if method in METHODS.get(self.capability, ()):
            return [jsonrpc.error(number, jsonrpc.METHOD_NOT_FOUND, f"{method} is not served")]
        return [self._listing_less(each) for each in self.machine.handle(message)]

    def _listing_less(self, message: JsonObject) -> JsonObject:
        result = message.get("result")
        if not isinstance(result, dict) or not isinstance(offered := result.get("capabilities"), list):
            return message
        return {**message, "result": {**result, "capabilities": [each for each in offered if each != self.capability]}}


def lacking(new_disk: Callable[[], Boot], capability: str) -> Boot:
    boot = new_disk()
    return lambda: Lacking(boot(), capability)


def run_without(role: str, capability: str) -> dict[str, Finding]:
    is_codec = capability == "codec"
    judged = codec_role(ROLES[role]) if is_codec else ROLES[role]
    link = InProcessLink(partial(lacking, BOOTS[role], capability))
    system = System(link, role, definitions(judged.schemas), Timeouts())
    runner = Runner(judged, system, catalogue(judged.spec))
    cases = [case for case in cases_of(ANY_ROLE if is_codec else role) if not case.swept or capability in SWEPT_WITHOUT]
    one_row_each = {(case.vector, case.swept): case for case in cases}
    return {case.id: runner.run(case) for case in one_row_each.values()}


@pytest.mark.parametrize(("role", "capability"), WITHHELD)
def test_a_driver_without_a_capability_is_not_run_where_it_would_need_it(role: str, capability: str) -> None:
    findings = run_without(role, capability)
    wrong = {
        case: f"{finding.outcome}: {finding.reason}"
        for case, finding in findings.items()
        if finding.outcome in (Outcome.FAIL, Outcome.ERROR, Outcome.WARN)
    }
    assert wrong == {}
    if capability != "settle":  # without it the kit waits for silence, and asks no less
        assert any(finding.outcome is Outcome.NOT_RUN for finding in findings.values())
