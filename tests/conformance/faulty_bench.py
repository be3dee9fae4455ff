"""What the tests with faulty drivers share: vectors that wake the fault, one run over them, and who is still alive."""

from __future__ import annotations

import os
import select
import sys
from dataclasses import dataclass
from pathlib import Path

from conformance.catalogue import catalogue
from conformance.drivers.process import ProcessLink
from conformance.engine.run import Finding, Runner
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.system import System, Timeouts
from conformance.vector import load_vectors

PROGRAM = Path(__file__).with_name("faulty_drivers") / "program.py"
IMPATIENT = Timeouts(reply=0.8, start=10, case=20)
"""For drivers that never answer; every other test has time enough, also on a machine that is busy."""
PATIENT = Timeouts(reply=10, start=20, case=60)
VECTORS = """\
id: FAULT-001
title: The fault shows
spec: delivery
role: device
clauses: [RCV-007]
not_swept: the driver is what is tested here
steps:
  - register_handler
  - deliver: {as: A, from: bob, body: misbehave}
  - expect: {handler_called: A}
  - deliver: {as: B, from: bob, body: {bytes: 61440}}
  - expect: nothing
  - handler_returns: A
  - expect: {deliver_ack: A}
  - expect: {handler_called: B}
  - handler_returns: B
  - expect: {deliver_ack: B}
---
id: FAULT-002
title: Another driver serves the next case
spec: delivery
role: device
clauses: [RCV-007]
not_swept: the driver is what is tested here
steps:
  - register_handler
  - deliver: {as: A, from: bob, body: behave}
  - expect: {handler_called: A}
  - handler_returns: A
  - expect: {deliver_ack: A}
"""


def command(fault: str) -> list[str]:
    return [sys.executable, "-S", str(PROGRAM), fault]


def write_vectors(folder: Path) -> Path:
    """The vectors that wake a fault, in a folder of their own."""
    vectors = folder / "vectors"
    vectors.mkdir()
    (vectors / "faults.yaml").write_text(VECTORS, encoding="utf-8")
    return vectors


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the case that wakes the fault, and of the one after it."""

    first: Finding
    second: Finding


def run(fault: str, folder: Path, timeouts: Timeouts = PATIENT) -> Run:
    """Run both cases against a driver with this fault, started in `folder`."""
    role = ROLES["device"]
    link = ProcessLink(command(fault), folder, timeouts.reply)
    system = System(link, role.name, definitions(role.schemas), timeouts, envelopes="plain")
    runner = Runner(role, system, catalogue(role.spec))
    try:
        first, second = (runner.run(case) for case in load_vectors(write_vectors(folder)))
    finally:
        runner.stop()
    return Run(first, second)


def pids(folder: Path) -> list[int]:
    """The drivers that ran in `folder`, and what they started."""
    return [int(line) for line in (folder / "pids").read_text(encoding="ascii").split()]


def is_gone(pid: int) -> bool:
    """Whether that process has ended; waits a while for one that was told to end just now."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    ended = bool(watch.poll(5000))
    os.close(descriptor)
    return ended
