"""The newcomer's first steps: a driver that runs, and the first vectors that it passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.__main__ import main

FIRST = {"device": "SEND-001", "relay": "RELAY-001"}
"""The vectors that the guide names."""


def kit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--pyargs", "conformance", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("role", FIRST)
def test_the_driver_that_it_writes_runs(role: str, tmp_path: Path) -> None:
    assert main(["new-adapter", "mine", "--role", role, "--into", str(tmp_path / "adapters")]) == 0
    done = kit(tmp_path, "--adapter=mine", f"--vector={FIRST[role]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_what_the_toy_cannot_do_is_not_run(tmp_path: Path) -> None:
    assert main(["new-adapter", "mine", "--into", str(tmp_path / "adapters")]) == 0
    done = kit(tmp_path, "--adapter=mine", "--clause=RLY-014")
    assert done.returncode == 0, done.stdout
    assert "passed" not in done.stdout
    assert "cases were not run" in done.stdout


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    assert main(["new-adapter", "mine", "--into", str(tmp_path)]) == 1
    assert "cannot be written: File exists; choose another name or --into." in capsys.readouterr().err
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize("name", ["", "../mine", "a/b", ".mine", "x" * 65])
def test_a_name_stays_in_its_folder(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-adapter", name, "--into", str(tmp_path)]) == 2
    assert "is no name for an adapter" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
