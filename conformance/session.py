"""One pytest session over the vectors: planning, items, results on the controller, the summary and results.json."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance import explanation, run_plan, summary, waivers
from conformance.adapter import AdapterError, NoStartError
from conformance.outcome import Outcome
from conformance.printable import printable
from conformance.result import Result, counts
from conformance.results_file import write
from conformance.run_plan import Plan, PlanError, Selection
from conformance.system import Greeting
from conformance.vector import Case
from reference_impl.wire.json_types import JsonObject

CANNOT_START = 3
PROPERTY = "conformance"


@dataclass(slots=True)
class Session:
    """What this process knows of the run. Under xdist the controller gathers, the workers run."""

    plan: Plan
    systems: dict[str, Greeting]
    is_worker: bool = False
    results: dict[str, JsonObject] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    written: str = ""


SESSION = pytest.StashKey[Session]()
_current: list[Session] = []
"""The session of this process, for the one hook that is given no config."""


def is_asked_for(config: pytest.Config, package: Path) -> bool:
    """Whether this pytest run is over the `conformance` package: by its path, or by name with --pyargs."""
    for argument in config.args:
        name = argument.partition("::")[0]
        by_name = config.option.pyargs and name == package.name
        if by_name or (config.invocation_params.dir / name).resolve() == package:
            return True
    return False


def of(config: pytest.Config) -> Session | None:
    return config.stash.get(SESSION, None)


def begin(config: pytest.Config) -> None:
    """Plan the run. In the process that the user started, also find out whether the adapter starts at all."""
    option = config.option
    selection = Selection(option.adapter, tuple(option.vector), tuple(option.clause), option.vectors)
    is_worker = hasattr(config, "workerinput")
    try:
        plan = run_plan.make(selection, config.invocation_params.dir, datetime.datetime.now(tz=datetime.UTC).date())
        systems = {} if is_worker or option.list else run_plan.check_start(plan.adapter)
    except NoStartError as error:
        pytest.exit(printable(str(error)), returncode=CANNOT_START)
    except (PlanError, AdapterError) as error:
        raise pytest.UsageError(printable(str(error))) from None
    if option.list:
        _print_list(plan)
        pytest.exit(f"{len(plan.cases)} cases listed, nothing was run", returncode=0)
    session = Session(plan, systems, is_worker)
    config.stash[SESSION] = session
    _current.append(session)


class VectorSet(pytest.Directory):
    """The cases of the run, in their order."""

    def collect(self) -> Iterable[pytest.Item]:
        session = of(self.config)
        cases = session.plan.cases if session is not None else ()
        for case in cases:
            item: pytest.Item = CaseItem.from_parent(self, name=case.id, case=case)
            yield item


class CaseItem(pytest.Item):
    """One case. It runs in the set-up phase, so that a driver's fault is an error to pytest and only a breach fails."""

    def __init__(self, *, case: Case, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]  # pytest's own arguments, passed through
        self.case = case
        self.result: Result | None = None
        self.extra_keyword_matches.update((*case.clauses, case.vector, case.role))

    def setup(self) -> None:
        session = of(self.config)
        if session is None:
            raise pytest.UsageError("the conformance session was not begun")
        self.result = session.plan.run(self.case)
        self.user_properties.append((PROPERTY, json.dumps(self.result.to_json())))
        if self.result.outcome is Outcome.ERROR:
            raise Explained(self._explain(self.result))

    def runtest(self) -> None:
        result = self.result
        if result is None or result.outcome in (Outcome.PASS, Outcome.WARN):
            return
        reason = printable(result.finding.reason)
        if result.outcome is Outcome.NOT_RUN:
            pytest.skip(f"not run: {reason}")
        if result.outcome is Outcome.NOT_APPLICABLE:
            pytest.skip(f"does not apply: {reason}")
        if result.outcome is Outcome.WAIVED:
            pytest.xfail(f"waived: {reason}")
        raise Explained(self._explain(result))

    def _explain(self, result: Result) -> str:
        option = self.config.option
        again = explanation.rerun_command(option.adapter, self.case.id, option.vectors, by_name=option.pyargs)
        return explanation.explain(result.to_json(), again)

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(self.case.location), self.case.line - 1, f"{self.case.id}: {self.case.title}"


class Explained(Exception):  # noqa: N818 - it carries an explanation to pytest, it is not caught as an error
    """A case that did not pass, in words."""


def take_report(report: pytest.TestReport) -> None:
    """Gather the result that a report carries. On the controller it ends here, and no JUnit file repeats it."""
    if not _current or _current[-1].is_worker:
        return
    for name, value in report.user_properties:
        if name == PROPERTY and isinstance(value, str):
            result: JsonObject = json.loads(value)
            _current[-1].results[str(result["id"])] = result
    report.user_properties = [entry for entry in report.user_properties if entry[0] != PROPERTY]


def finish(session: pytest.Session) -> None:
    """On the controller: write results.json, and fail a run whose waivers did not fire."""
    mine = of(session.config)
    if mine is None:
        return
    mine.plan.stop()
    if mine.is_worker:
        return
    used = [str(result["waiver"]) for result in mine.results.values() if "waiver" in result]
    exercised = [each for each in mine.plan.waivers if _was_exercised(each, mine)]
    mine.faults = waivers.unused(exercised, used)
    path = session.config.invocation_params.dir / session.config.option.results
    complete = len(mine.results) == len(mine.plan.cases)
    try:
        write(path, mine.plan, mine.systems, _in_order(mine), complete=complete)
        mine.written = str(session.config.option.results)
    except OSError as error:
        mine.faults.append(f"{path} cannot be written: {error.strerror}; name another file with --results")
    except ValueError as error:
        mine.faults.append(f"{path} is not written: {error}; please report it")
    if mine.faults and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def summarise(reporter: pytest.TerminalReporter) -> None:
    session = of(reporter.config)
    if session is None or not session.results:
        return
    results = list(_in_order(session))
    reporter.section(f"conformance of {printable(_title(session))}")
    for line in summary.table(results, list(session.plan.catalogues.values())):
        reporter.line(line)
    found = counts(results)
    for line in summary.conditions(session.plan, found[Outcome.NOT_RUN]):
        reporter.line(line)
    for result in results:
        if result["outcome"] == Outcome.WARN:
            reporter.line(f"advice, {result['id']}: {result['reason']}", yellow=True)
    if len(results) < len(session.plan.cases):
        missing = len(session.plan.cases) - len(results)
        why = "they were deselected, or the run ended early"
        reporter.line(f"{missing} of the cases have no result: {why}.", yellow=True)
    for fault in session.faults:
        reporter.line(printable(fault), red=True)
    for line in _closing_words(session):
        reporter.line(line)


def _closing_words(session: Session) -> Iterator[str]:
    if session.plan.adapter.envelopes == "plain":
        yield "Envelopes were plain: this judges the state machines, and cannot be certified."
    if session.written:
        yield f"Every result is in {session.written}."


def end(config: pytest.Config) -> None:
    """Whatever happened, also after Ctrl-C: no driver stays behind."""
    session = of(config)
    if session is not None:
        session.plan.stop()
        _current.remove(session)
        del config.stash[SESSION]


def _was_exercised(waiver: waivers.Waiver, session: Session) -> bool:
    if waiver.vector:
        return waiver.vector in session.results
    wanted = {case.id for case in session.plan.cases if waiver.clause in case.clauses}
    return bool(wanted) and wanted <= session.results.keys()


def _in_order(session: Session) -> Iterator[JsonObject]:
    for case in session.plan.cases:
        if case.id in session.results:
            yield session.results[case.id]


def _title(session: Session) -> str:
    adapter = session.plan.adapter
    greetings = {f"{each.name} {each.version}" for each in session.systems.values()}
    return f"{adapter.name} ({', '.join(sorted(greetings))}), {' and '.join(adapter.roles)}"


def _print_list(plan: Plan) -> None:
    for case in plan.cases:
        print(f"{case.id:<28} {case.role:<7} {', '.join(case.clauses):<18} {case.title}")
