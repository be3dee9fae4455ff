"""Vectors written in a test, run against a relay in this process through the real engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from adapters.reference.in_process import boot_relay
from conformance.catalogue import catalogue
from conformance.delivery.relay import RELAY
from conformance.drivers.in_process import Boot, InProcessLink, MessageMachine
from conformance.engine.run import Finding, Runner
from conformance.schema import definitions
from conformance.system import System, Timeouts
from conformance.vector import Case, load_vectors
from reference_impl.relay.relay import Relay

HEAD = "id: RLYW-001\ntitle: A vector of the tests\nspec: delivery\nrole: relay\nclauses: [RLY-001]\n"
"""The clause of every vector here: a finding that names another one has it from a promise or from the world."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Runs vectors that a test writes. `new_disk` lays out the relay under test."""

    folder: Path
    new_disk: Callable[[], Boot]

    def run(self, steps: str, **fields: str) -> Finding:
        """One vector with these steps, in YAML; `fields` are further top-level fields, each in YAML."""
        system = System(InProcessLink(self.new_disk), "relay", definitions(RELAY.schemas), Timeouts())
        runner = Runner(RELAY, system, catalogue())
        try:
            return runner.run(self.case(steps, **fields))
        finally:
            runner.stop()

    def case(self, steps: str, **fields: str) -> Case:
        more = "".join(f"{name}: {value}\n" for name, value in fields.items())
        file = self.folder / "vector.yaml"
        file.write_text(f"{HEAD}{more}steps:\n{indent(dedent(steps).strip(), '  ')}\n", encoding="utf-8")
        (case,) = load_vectors(file)
        return case


def of_class(folder: Path, relay_class: type[Relay] = Relay) -> Bench:
    return Bench(folder, boot_relay(relay_class))


def of_machine(folder: Path, wrap: Callable[[MessageMachine], MessageMachine]) -> Bench:
    """The reference behind a machine that changes what it is told or what it says."""

    def new_disk() -> Boot:
        boot = boot_relay(Relay)()
        return lambda: wrap(boot())

    return Bench(folder, new_disk)
