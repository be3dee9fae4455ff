"""A run that is cut short: what was found is written, and no driver stays behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from xml.etree import ElementTree

import pytest

from tests.conformance.faulty_bench import VECTORS, is_gone, pids
from tests.conformance.plugin_bench import Kit
from tests.conformance.relay_program_bench import ROOT, STORY

pytest_plugins = ("pytester",)
SECONDS = 60


@pytest.fixture(name="kit")
def _kit(pytester: pytest.Pytester) -> Kit:
    """One case that passes, then one in which the driver hangs for longer than any test waits."""
    kit = Kit(pytester)
    kit.write("own/d.yaml", VECTORS)
    patient = kit.adapter("hanging", "hangs_and_says_so").read_text(encoding="utf-8").replace("10s", "10m")
    kit.write("hanging.yaml", patient)
    return kit


def take_interrupts() -> None:
    """A CI that runs its jobs in the background ignores SIGINT, and so would everything that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_until_it_hangs(kit: Kit, *more: str) -> subprocess.Popen[bytes]:
    """Start pytest and return once its driver has written that it hangs: into a pipe that it finds by its name."""
    os.mkfifo(kit.folder / "hangs")
    opened = os.open(kit.folder / "hangs", os.O_RDONLY | os.O_NONBLOCK)
    (kit.folder / "temporary").mkdir()
    process = subprocess.Popen(
        kit.command("--adapter=hanging.yaml", "--junitxml=junit.xml", *more),
        cwd=kit.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=take_interrupts,  # noqa: PLW1509 - these tests start no threads
        env={**os.environ, "TMPDIR": str(kit.folder / "temporary")},
    )
    assert was_written(opened), "the driver never came so far"
    return process


def was_written(descriptor: int) -> bool:
    """Whether somebody opened the other end of this FIFO and closed it again, within a minute."""
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    written = bool(watch.poll(1000 * SECONDS))
    os.close(descriptor)
    return written


def test_ctrl_c_ends_the_run_and_keeps_what_was_found(kit: Kit) -> None:
    process = start_until_it_hangs(kit)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert b"INTERNALERROR" not in output
    assert b"2 of the cases have no result: they were deselected, or the run ended early." in output
    assert kit.results()["complete"] is False
    assert kit.outcomes() == {"OWN-001": "pass"}
    junit = ElementTree.fromstring((kit.folder / "junit.xml").read_bytes())  # noqa: S314 - the kit has just written it
    assert next(junit.iter("testcase")).get("name") == "OWN-001"
    assert all(is_gone(pid) for pid in pids(kit.folder))
    assert list((kit.folder / "temporary").glob("conformance-*")) == []


def test_ctrl_c_reaches_the_drivers_of_workers(kit: Kit) -> None:
    process = start_until_it_hangs(kit, "-n1")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert b"INTERNALERROR" not in output
    assert kit.results()["complete"] is False
    assert len(pids(kit.folder)) >= 2
    assert all(is_gone(pid) for pid in pids(kit.folder))


HANGING_RELAY = f"""\
name: hanging
role: relay
driver: tcp
command:
  - "{{python}}"
  - -m
  - tests.conformance.faulty_relays.program
  - hangs
  - --data={{data}}
  - --receive=127.0.0.1:{{receive_port}}
  - --push=127.0.0.1:{{push_port}}
environment: {{PYTHONPATH: "{ROOT}"}}
ready: {{line: "^ready "}}
relay_key: {{file: "{{data}}/relay.pub"}}
timeouts: {{reply: 10m, start: 60s, case: 20m}}
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_relay_stays_behind(end: signal.Signals, kit: Kit) -> None:
    kit.write("hanging.yaml", HANGING_RELAY)
    kit.write("own/r.yaml", STORY)
    process = start_until_it_hangs(kit)
    process.send_signal(end)
    output, _ = process.communicate(timeout=SECONDS)
    assert b"INTERNALERROR" not in output
    assert len(pids(kit.folder)) >= 2
    assert all(is_gone(pid) for pid in pids(kit.folder))


def test_a_kit_that_is_killed_takes_its_driver_along(kit: Kit) -> None:
    process = start_until_it_hangs(kit)
    process.kill()
    process.communicate(timeout=SECONDS)
    assert len(pids(kit.folder)) >= 2
    assert all(is_gone(pid) for pid in pids(kit.folder))
