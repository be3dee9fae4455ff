"""The role `relay`: the world around it, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.delivery.relay_expectations import RelayExpectations
from conformance.delivery.relay_promises import PROMISES
from conformance.delivery.relay_stimuli import RelayStimuli
from conformance.delivery.relay_world import RelayWorld
from conformance.engine.record import Promise
from conformance.engine.world import Expectation, KillPoint, Query, Role, Stimulus
from conformance.outcome import VectorError
from conformance.system import System
from conformance.vector import Case


class Relay(RelayWorld):
    """The world around a relay, as the engine drives it."""

    def __init__(self, case: Case, system: System, data_folder: str, kill_point: KillPoint) -> None:  # noqa: ARG002 - no sweep
        super().__init__(case, system, data_folder)
        self._stimuli = RelayStimuli(self)
        self._expectations = RelayExpectations(self)

    @property
    def stimuli(self) -> Mapping[str, Stimulus]:
        return self._stimuli.table

    @property
    def expectations(self) -> Mapping[str, Expectation]:
        return self._expectations.table

    @property
    def queries(self) -> Mapping[str, Query]:
        """A relay is asked nothing about its state: what it keeps shows in what it delivers."""
        return {}

    @property
    def names(self) -> Mapping[str, str]:
        """None: what the records of a relay say is in the vector's own words."""
        return {}

    @property
    def promises(self) -> Sequence[Promise]:
        return PROMISES

    def finish(self) -> None:
        self.await_answers()

    def recover(self) -> None:
        raise VectorError("the crash sweep is for devices; a relay is killed where its vectors say so")


RELAY = Role(
    name="relay",
    spec="delivery",
    schemas=("driver-common.json", "driver-relay.json"),
    make_world=Relay,
    swept=False,
)
