"""Devices that find the kit's relay on real sockets: what is right passes, what goes wrong is told in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.adapter import AdapterError, find, read
from conformance.catalogue import catalogue
from conformance.drivers.device_over_tcp import DeviceOverTcpLink
from conformance.drivers.process import ProcessLink
from conformance.engine.run import Finding, Runner
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.system import System, Timeouts
from conformance.vector import load_vectors
from reference_impl.wire.profile import load_profile

ROOT = Path(__file__).parents[2]
VECTOR = """\
id: STORY-001
title: A message comes and one goes
spec: delivery
role: device
clauses: [RCV-007]
requires: [kill]
setup: {members: [bob, carol]}
steps:
  - register_handler
  - deliver: {as: hello, from: bob}
  - expect: {handler_called: hello}
  - handler_returns: hello
  - expect: {deliver_ack: hello}
  - send: {as: M}
  - expect: {push: {of: M, to: bob}}
  - expect: {push: {of: M, to: carol}}
  - ack_push: {of: M, to: carol}
  - refuse_push: {of: M, to: bob, code: inbox_full}
  - advance: 2s
  - expect: {push: {of: M, to: bob}}
  - kill
  - start
  - expect: {push: {of: M, to: bob}}
"""


def run(fault: str, folder: Path, timeouts: Timeouts | None = None, *, plain: bool = False) -> Finding:
    """Run the vector against a device with that fault."""
    timeouts = timeouts or Timeouts(reply=20, start=30, case=60)
    command = [sys.executable, "-m", "tests.conformance.faulty_devices", fault]
    link = DeviceOverTcpLink(ProcessLink(command, ROOT, timeouts.reply), load_profile("draft-1"), plain=plain)
    role = ROLES["device"]
    envelopes = "plain" if plain else "sealed"
    system = System(link, role.name, definitions(role.schemas), timeouts, envelopes=envelopes)
    (folder / "own.yaml").write_text(VECTOR, encoding="utf-8")
    runner = Runner(role, system, catalogue("delivery"))
    try:
        (finding,) = [runner.run(case) for case in load_vectors(folder)]
    finally:
        runner.stop()
    return finding


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("fault", ["none", "connects_twice", "half_handshake"])
def test_a_right_device_passes(fault: str, plain: bool, tmp_path: Path) -> None:
    finding = run(fault, tmp_path, plain=plain)
    assert (finding.outcome, finding.reason) == (Outcome.PASS, "")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("never_connects", "handler called for hello did not come after deliver"),
        ("garbage", "listener: A connection begins with 5453 and its Transport Version"),
        ("relay_frames", "a Deliver frame, which is not a device's to send there"),
    ],
)
def test_a_wrong_device_fails(fault: str, reason: str, tmp_path: Path) -> None:
    finding = run(fault, tmp_path)
    assert finding.outcome is Outcome.FAIL
    assert reason in finding.reason


@pytest.mark.parametrize("fault", ["deep_envelopes", "numberless_envelopes"])
def test_an_envelope_that_is_no_json_for_every_reader_is_none(fault: str, tmp_path: Path) -> None:
    finding = run(fault, tmp_path, plain=True)
    assert (finding.outcome, finding.clause) == (Outcome.FAIL, "SND-026")
    assert "that cannot be read: the envelope is not an object" in finding.reason


def test_a_device_that_never_answers_is_an_error_of_its_driver(tmp_path: Path) -> None:
    finding = run("spends_its_time", tmp_path, Timeouts(reply=1, start=30, case=60))
    assert finding.outcome is Outcome.ERROR
    assert "did not answer settle within 1 s" in finding.reason


def test_the_manifest_of_the_reference_over_tcp_is_read() -> None:
    judged = find("reference-device-tcp", Path())
    assert (judged.sockets, judged.roles) == (True, ("device",))


@pytest.mark.parametrize("text", ["role: relay\ndriver: process", "role: device\ndriver: in_process"])
def test_a_link_over_tcp_is_for_device_programs(text: str, tmp_path: Path) -> None:
    path = tmp_path / "adapter.yaml"
    path.write_text(f"name: x\n{text}\nlink: tcp\ncommand: [x]\nfactory: 'a:b'\n", encoding="utf-8")
    with pytest.raises(AdapterError, match=r"adapter\.yaml:"):
        read(path)
