"""What one run consists of: the adapter, the cases that were asked for, and who runs them."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from conformance import waivers
from conformance.adapter import Adapter, AdapterError, NoStartError, find
from conformance.catalogue import Catalogue, catalogue
from conformance.codec.files import codec_files, load_codec_cases
from conformance.codec.world import codec_role
from conformance.data_files import vectors_root
from conformance.engine.run import Finding, Runner
from conformance.engine.world import Role
from conformance.outcome import DriverError, Outcome
from conformance.result import Result
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.schema_faults import nearest
from conformance.strict_yaml import YamlError
from conformance.system import Greeting, System, WrongRoleError
from conformance.vector import ANY_ROLE, Case, VectorsError, has_steps, load_vectors
from conformance.waivers import Waiver
from reference_impl.wire.profile import load_profile

DEFAULT_ADAPTER = "reference"
NUMBERS = re.compile(r"-?[0-9]+(?:(?:ms|[smhd])(?:[+-][0-9]+(?:ms|[smhd]))*)?\b")
"""Whole numbers and durations, as vectors write them."""


class PlanError(Exception):
    """A run that cannot begin as asked: one sentence, or several, that say what, where and what to do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user asked for: patterns of case ids, clause ids, and a folder of vectors of their own."""

    adapter: str = ""
    vectors: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    folder: str = ""


@dataclass(slots=True)
class Plan:
    """The cases of a run in their order. `others` are those of roles that the adapter does not have."""

    selection: Selection
    adapter: Adapter
    cases: Sequence[Case]
    others: Sequence[Case]
    catalogues: Mapping[str, Catalogue]
    waivers: Sequence[Waiver]
    _systems: dict[str, System] = field(default_factory=dict)
    _runners: dict[tuple[str, bool], Runner] = field(default_factory=dict)

    def run(self, case: Case) -> Result:
        """Run one case. A failure that a waiver covers comes back as waived."""
        known = self.catalogues[case.spec]
        result = Result.of(case, self._find(case, known), known)
        if result.finding.outcome is Outcome.FAIL:
            for waiver in self.waivers:
                if waiver.covers(case.id, result.clause):
                    return replace(result, waiver=waiver.subject)
        return result

    @property
    def inexpressible(self) -> Mapping[str, str]:
        """The clauses that the wire profile leaves nothing to judge by, each with the reason."""
        return load_profile(self.adapter.wire).inexpressible

    def stop(self) -> None:
        """Let go of every driver."""
        for system in self._systems.values():
            system.stop()
        self._systems.clear()
        self._runners.clear()

    def _find(self, case: Case, known: Catalogue) -> Finding:
        """Run the case in its role; one for any role in the first that offers what it is about."""
        for clause, because in self.inexpressible.items():
            if clause in case.clauses:
                reason = f"the wire profile {self.adapter.wire} cannot express {clause}: {because}"
                return Finding(Outcome.NOT_APPLICABLE, reason)
        roles = self.adapter.roles if case.role == ANY_ROLE else (case.role,)
        findings = (self._runner(role, known, is_codec=case.role == ANY_ROLE).run(case) for role in roles)
        last = next(findings)
        while last.outcome is Outcome.NOT_RUN and (another := next(findings, None)) is not None:
            last = another
        return last

    def _runner(self, name: str, known: Catalogue, *, is_codec: bool) -> Runner:
        role = ROLES[name]
        if name not in self._systems:
            self._systems[name] = make_system(self.adapter, role)
        if (name, is_codec) not in self._runners:
            judged = codec_role(role) if is_codec else role
            self._runners[name, is_codec] = Runner(judged, self._systems[name], known)
        return self._runners[name, is_codec]


def make(selection: Selection, folder: Path, today: datetime.date) -> Plan:
    """Plan a run, seen from `folder`. Raises PlanError for what cannot be found or read.

    The driver is not started; see `check_start`.
    """
    try:
        adapter = find(selection.adapter or DEFAULT_ADAPTER, folder)
        if not adapter.roles:
            adapter = replace(adapter, roles=(_ask_role(adapter),))
        every = load_cases(selection.folder, folder)
        catalogues = {role.spec: catalogue(role.spec) for role in ROLES.values()}
        chosen = _chosen(every, selection, catalogues)
        known = waivers.load(adapter.waivers, today, _ids(every), _clauses(catalogues)) if adapter.waivers else []
    except NoStartError:
        raise
    except (AdapterError, VectorsError, YamlError) as error:
        raise PlanError(str(error)) from None
    mine = [case for case in chosen if case.role in (*adapter.roles, ANY_ROLE)]
    if not mine:
        roles = " and ".join(adapter.roles)
        raise PlanError(
            f"none of the {len(chosen)} selected vectors is for the role of adapter {adapter.name}: {roles}; "
            "select other vectors, or correct `role` in the manifest"
        )
    others = [case for case in chosen if case.role not in (*adapter.roles, ANY_ROLE)]
    return Plan(selection, adapter, mine, others, catalogues, known)


def load_cases(own: str, folder: Path) -> list[Case]:
    """The cases of a user's folder, or the kit's own, each device vector followed by its crash sweep."""
    root = (folder / own) if own else None
    if root is not None and not os.path.exists(root):  # which is false where Path.exists raises: a name too long
        raise PlanError(f"--vectors={own}: there is no such file or folder")
    cases: list[Case] = []
    told: set[str] = set()
    for case in own_vectors() if root is None else _vectors_at(root):
        cases.append(case)
        if case.role == ANY_ROLE or not ROLES[case.role].swept or case.not_swept or "kill" in case.requires:
            continue
        story = f"{case.vector}: {_story([step.verb, step.argument] for step in case.steps)}"
        if story not in told:
            told.add(story)
            cases.append(_swept(case))
    return cases


def _story(value: object) -> str:
    """A vector's steps without their numbers: rows that differ in nothing else have the same points to be killed at."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{name}:{_story(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "[" + ",".join(_story(each) for each in value) + "]"
    return NUMBERS.sub("0", str(value))


def _swept(case: Case) -> Case:
    """The crash sweep of a vector: the same steps, killed at each observation in turn (CRS-006)."""
    return replace(
        case,
        id=f"{case.id}+killed",
        title=f"{case.title}; killed at every observable step",
        clauses=("CRS-006", *case.clauses),
        requires=("kill", *case.requires),
        swept=True,
    )


def _vectors_at(root: Path) -> list[Case]:
    """What a user keeps there: vectors, codec files, or both."""
    has_codec = bool(codec_files(root))
    steps = load_vectors(root) if has_steps(root) or not has_codec else []
    return [*steps, *(load_codec_cases(root) if has_codec else [])]


def own_vectors() -> list[Case]:
    """The vectors that come with the kit."""
    specs = dict.fromkeys(role.spec for role in ROLES.values())
    return [*(case for spec in specs for case in load_vectors(vectors_root() / spec)), *load_codec_cases()]


def check_start(adapter: Adapter) -> dict[str, Greeting]:
    """Start the driver once for each role and stop it again. Raises NoStartError if it does not start."""
    return {role: _greet(adapter, ROLES[role]) for role in adapter.roles}


def _greet(adapter: Adapter, role: Role) -> Greeting:
    system = make_system(adapter, role)
    try:
        return system.start()
    except DriverError as error:
        words = system.last_words().strip()
        tail = f" Its last words on stderr: {words[-500:]}" if words else ""
        raise NoStartError(
            f"adapter {adapter.name} does not start as a {role.name}: {str(error).rstrip('.')}.{tail}"
        ) from None
    finally:
        system.stop()


def _ask_role(adapter: Adapter) -> str:
    """The role of a driver that no manifest describes."""
    first = next(iter(ROLES.values()))
    system = make_system(adapter, first)
    try:
        system.start()
    except WrongRoleError as error:
        if error.role in ROLES:
            return error.role
        raise NoStartError(f"adapter {adapter.name}: {error}") from None
    except DriverError as error:
        words = system.last_words().strip()
        tail = f" Its last words on stderr: {words[-500:]}" if words else ""
        raise NoStartError(f"adapter {adapter.name} does not start: {error}.{tail}") from None
    finally:
        system.stop()
    return first.name


def make_system(adapter: Adapter, role: Role) -> System:
    """The adapter's system in this role, not yet started."""
    link, schemas = adapter.link(role.name), definitions(role.schemas)
    return System(link, role.name, schemas, adapter.timeouts, envelopes=adapter.envelopes, wire=adapter.wire)


def _chosen(every: Sequence[Case], selection: Selection, catalogues: Mapping[str, Catalogue]) -> list[Case]:
    chosen = list(every)
    for wanted in selection.vectors:
        if not any(_is_named(case, wanted) for case in every):
            raise PlanError(f"--vector={wanted} matches nothing{nearest(wanted, _ids(every))}; --list shows all ids")
    for wanted in selection.clauses:
        if not any(wanted in case.clauses for case in every):
            known = _clauses(catalogues)
            what = "no vector is about it" if wanted in known else f"there is no such clause{nearest(wanted, known)}"
            raise PlanError(f"--clause={wanted} matches nothing: {what}")
    if selection.vectors:
        chosen = [case for case in chosen if any(_is_named(case, wanted) for wanted in selection.vectors)]
    if selection.clauses:
        chosen = [case for case in chosen if any(wanted in case.clauses for wanted in selection.clauses)]
    if not chosen:
        raise PlanError("no vector matches both --vector and --clause; leave one of them out")
    return chosen


def _is_named(case: Case, wanted: str) -> bool:
    """By its own id; by its vector's, which are all its rows without the crash sweep; or by a pattern."""
    whole_vector = wanted == case.vector and not case.swept
    return wanted == case.id or whole_vector or ("*" in wanted and fnmatchcase(case.id, wanted))


def _ids(cases: Iterable[Case]) -> list[str]:
    return [case.id for case in cases]


def _clauses(catalogues: Mapping[str, Catalogue]) -> list[str]:
    return [clause for each in catalogues.values() for clause in each.clauses]
