"""`--adapter=trueseal://…`: a relay that runs by itself is judged as it stands, again and again, and left running."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.adapter import Adapter, NoStartError
from conformance.drivers.relay_ports import free_ports
from conformance.run_plan import check_start
from reference_impl.wire.relay_address import RelayAddress, parse
from tests.conformance.plugin_bench import Kit
from tests.conformance.relay_program_bench import PATIENT, RESTART, ROOT, SETTING

pytest_plugins = ("pytester",)
SECONDS = 30
ANY_PORTS = ("--receive=127.0.0.1:0", "--push=127.0.0.1:0")
NEEDS_NOTHING = """\
id: LIVE-001
title: A push waits for a device that is a stranger to the relay
spec: delivery
role: relay
clauses: [RLY-029]
steps:
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
  - open_session: {device: dana, as: s1}
  - expect: {delivered: {of: A, session: s1}}
"""


@pytest.fixture(name="relay")
def _relay(tmp_path: Path) -> Iterator[RelayAddress]:
    """The reference Relay, running by itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reference_impl.relay", f"--data={tmp_path / 'relay'}", *ANY_PORTS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield parse(_ready(process))
        assert process.poll() is None, "the kit ended a relay that is not its own"
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def _ready(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], SECONDS)[0], "the relay was not ready in time"
    return process.stdout.readline().decode("ascii").removeprefix("ready ").strip()


def live(address: RelayAddress) -> Adapter:
    return Adapter("live", ("relay",), "tcp", Path(), timeouts=PATIENT, address=address)


def test_what_it_offers(relay: RelayAddress) -> None:
    assert check_start(live(relay))["relay"].capabilities == {"settle", "elapse", "tcp"}


def test_each_run_meets_it_as_a_stranger(relay: RelayAddress, pytester: pytest.Pytester) -> None:
    kit = Kit(pytester)
    for number, vector in enumerate((NEEDS_NOTHING, SETTING, RESTART)):
        kit.write(f"own/{number}.yaml", vector)
    for _ in range(2):
        result = kit.run(f"--adapter={relay}", "--vector=LIVE-*", "--vector=STORY-*")
        assert kit.outcomes() == {"LIVE-001": "pass", "STORY-002": "not_run", "STORY-003": "not_run"}
        result.stdout.fnmatch_lines(["The relay runs by itself: the kit did not kill, restart or set it, *"])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda right: RelayAddress(bytes(32), right.host, right.receive_port, right.push_port), "proved another key"),
        (
            lambda right: RelayAddress(right.relay_pub, right.host, right.push_port, right.receive_port),
            "closes the connection in the handshake; check that it is this port of the relay",
        ),
        (
            lambda right: RelayAddress(right.relay_pub, right.host, right.receive_port, free_ports(1)[0]),
            "nothing listens at 127.0.0.1:",
        ),
    ],
    ids=["key", "ports", "nobody"],
)
def test_a_wrong_address_is_told_in_a_sentence(
    wrong: Callable[[RelayAddress], RelayAddress], sentence: str, relay: RelayAddress
) -> None:
    with pytest.raises(NoStartError) as caught:
        check_start(live(wrong(relay)))
    assert sentence in str(caught.value)
