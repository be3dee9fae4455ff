"""Containers where there is no engine, each mistake told in a sentence; tests/container has what needs one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance import container_start
from conformance.adapter import Adapter, AdapterError, find, read
from conformance.drivers.attached import STDERR, STDOUT, AttachedOutput
from conformance.drivers.container import ContainerLink
from conformance.drivers.docker_engine import connect, no_engine
from conformance.drivers.run_labels import PLACE, RUN, is_left_over, labels
from conformance.drivers.sandbox import MEBIBYTE, Sandbox
from conformance.outcome import DriverError
from conformance.run_plan import check_start

MANIFEST = "name: mine\nrole: device\ndriver: container\nimage: mysdk:latest\n"


def test_no_engine_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(AdapterError) as caught:
        check_start(_manifest(tmp_path))
    told = str(caught.value)
    assert told.startswith("adapter mine does not start as a device: no Docker engine answers at unix://")
    assert "(No such file or directory); start one, or name its socket in DOCKER_HOST" in told


def test_an_engine_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(DriverError, match=r"must run on this machine.*DOCKER_HOST is tcp://192\.0\.2\.1:2375; let it"):
        connect()


def test_an_engine_that_this_user_may_not_use() -> None:
    told = no_engine("unix:///run/x.sock", PermissionError(13, "Permission denied"))
    assert told.startswith("the Docker engine at unix:///run/x.sock may not be used by this user; run the kit in")


def test_a_manifest_says_what_a_container_may_use(tmp_path: Path) -> None:
    adapter = _manifest(tmp_path, 'command: [serve, "{role}"]\nmemory: 1GiB\npids: 64\nwritable: true\n')
    assert adapter.sandbox == Sandbox("mysdk:latest", ("serve", "{role}"), 1024 * MEBIBYTE, 64, writable=True)
    assert isinstance(adapter.link("device"), ContainerLink)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: x\nrole: device\ndriver: container\n", ":1: image is missing."),
        (MANIFEST + "memory: 12\n", ":5: memory: "),
        (MANIFEST + "pids: 0\n", ":5: pids: "),
        (MANIFEST.replace("mysdk:latest", "-v"), ":4: image: "),
    ],
)
def test_mistakes_in_a_manifest(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "adapter.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AdapterError) as caught:
        read(path)
    assert reason in str(caught.value)


def test_an_image_in_place_of_a_manifest(tmp_path: Path) -> None:
    adapter = find("image:mysdk:latest", tmp_path)
    assert (adapter.sandbox, adapter.roles) == (Sandbox("mysdk:latest"), ())
    with pytest.raises(AdapterError, match="--adapter=image: needs the name of an image"):
        find("image:", tmp_path)


def test_what_a_run_left_is_known_by_its_process() -> None:
    mine = labels()
    assert not is_left_over(mine)
    assert is_left_over({**mine, RUN: f"{os.getpid()} 1 another-boot"})
    assert not is_left_over({**mine, RUN: "1 1 1", PLACE: "elsewhere"})
    assert not is_left_over({**mine, RUN: "nobody"})


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_in_whatever_pieces_they_come(size: int) -> None:
    stream = b"\1\0\0\0\0\0\0\3abc" + b"\2\0\0\0\0\0\0\0" + b"\2\0\0\0\0\0\0\2de" + b"\1\0\0\0\0\0\0\1f"
    output = AttachedOutput()
    said = {STDOUT: b"", STDERR: b""}
    for start in range(0, len(stream), size):
        for source, piece in output.feed(stream[start : start + size]):
            said[source] += piece
    assert said == {STDOUT: b"abcf", STDERR: b"de"}


def _manifest(folder: Path, more: str = "") -> Adapter:
    path = folder / "adapter.yaml"
    path.write_text(MANIFEST + more, encoding="utf-8")
    return read(path)


def test_the_benchmark_says_why_it_measures_no_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    told = container_start.measured()
    assert told.startswith("a container's start: not measured, for no Docker engine answers at unix://")
