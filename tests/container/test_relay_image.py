"""The reference relay as an image, for real: on loopback only, killed and started on its data, gone at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.adapter import Adapter, read
from conformance.outcome import Outcome
from conformance.system import Timeouts
from tests.conformance.relay_program_bench import RESTART, STORY, run, system
from tests.container.container_bench import left_over

MANIFEST = Path(__file__).parents[2] / "adapters" / "reference-relay-image.yaml"


def adapter() -> Adapter:
    return replace(read(MANIFEST), timeouts=Timeouts(reply=20, start=60, case=120))


def test_a_relay_killed_in_its_container_keeps_what_it_acked(tmp_path: Path) -> None:
    finding = run(adapter(), tmp_path, STORY)
    assert (finding.outcome, finding.reason) == (Outcome.PASS, "")
    assert left_over() == []


def test_a_relay_in_a_container_stops_politely(tmp_path: Path) -> None:
    finding = run(adapter(), tmp_path, RESTART)
    assert (finding.outcome, finding.reason) == (Outcome.PASS, "")


def test_its_ports_are_published_on_loopback_only(tmp_path: Path) -> None:
    with system(adapter()) as relay:
        relay.start()
        with relay.data_folder() as folder:
            relay.call("open", {"data_folder": folder, "now": 0, "settings": {}})
            (container,) = left_over()
            container.reload()
            host = container.attrs["HostConfig"]
            relay.kill()
    bound = [each["HostIp"] for bindings in host["PortBindings"].values() for each in bindings]
    assert bound == ["127.0.0.1"] * 3
    assert host["ReadonlyRootfs"] is True
    assert left_over() == []


def test_an_image_that_is_missing_is_told_in_a_sentence(tmp_path: Path) -> None:
    judged = adapter()
    assert judged.sandbox is not None
    lost = replace(judged, sandbox=replace(judged.sandbox, image="no-such-image"))
    finding = run(lost, tmp_path, STORY)
    assert finding.outcome is Outcome.ERROR
    assert "the Docker engine has no image 'no-such-image'" in finding.reason
