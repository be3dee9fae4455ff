"""The pytest plugin: options and hooks. What they do is elsewhere.

It is loaded in every pytest run of an environment that has the kit, and does nothing unless the `conformance`
package itself is what pytest was asked to run.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from conformance import session as sessions

GROUP = "conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(GROUP, "conformance kit")
    group.addoption(
        "--adapter",
        metavar="NAME",
        default="",
        help='the system under test: a name, a manifest, or cmd:"COMMAND" (default: the reference, in process)',
    )
    group.addoption("--clause", metavar="ID", action="append", default=[], help="only vectors about this clause")
    group.addoption(
        "--vector",
        metavar="ID",
        action="append",
        default=[],
        help="only this vector; 'ID*' takes its crash sweep along, * matches any text",
    )
    group.addoption("--vectors", metavar="DIR", default="", help="your own vectors instead of the kit's")
    group.addoption(
        "--results", metavar="FILE", default="reports/results.json", help="where results.json goes (%(default)s)"
    )
    group.addoption("--list", action="store_true", default=False, help="list the vectors and run nothing")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Plan the run before anything is collected, so that what cannot begin ends in one sentence."""
    if sessions.is_asked_for(session.config, Path(__file__).parent):
        sessions.begin(session.config)


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The package itself is the test suite: its cases are collected in place of its files."""
    if path == Path(__file__).parent and sessions.of(parent.config) is not None:
        directory: pytest.Collector = sessions.VectorSet.from_parent(parent, path=path, nodeid=path.name)
        return directory
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A case that did not pass explains itself: its text takes the place of a traceback."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, sessions.Explained):
        report.longrepr = str(call.excinfo.value)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    sessions.take_report(report)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """The table comes first, pytest's explanations of the failures follow it."""
    sessions.summarise(terminalreporter)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    sessions.finish(session)


def pytest_unconfigure(config: pytest.Config) -> None:
    sessions.end(config)
