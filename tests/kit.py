"""What the kit's own tests share: running cases against a deviation of the reference, without a pytest of their own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from adapters.deviation import Deviation, new_disk, role_of
from conformance.catalogue import catalogue
from conformance.codec.world import codec_role
from conformance.drivers.in_process import InProcessLink
from conformance.engine.run import Finding, Runner
from conformance.roles import ROLES
from conformance.run_plan import load_cases
from conformance.schema import definitions
from conformance.system import System, Timeouts
from conformance.vector import ANY_ROLE, Case


@cache
def cases_of(role: str) -> list[Case]:
    """Every case of the kit's own set for that role that needs no sockets, crash sweeps included."""
    return [case for case in load_cases("", Path()) if case.role == role and "tcp" not in case.requires]


def run(deviation: Deviation, cases: Iterable[Case]) -> dict[str, Finding]:
    """Run these cases against a deviation, in process. A codec is judged as that of a relay."""
    judged = role_of(deviation)
    role = codec_role(ROLES["relay"]) if judged == ANY_ROLE else ROLES[judged]
    link = InProcessLink(new_disk(deviation))
    runner = Runner(role, System(link, role.name, definitions(role.schemas), Timeouts()), catalogue(role.spec))
    return {case.id: runner.run(case) for case in cases}
