"""A third party's CI: the wheel alone, in an empty folder, with vectors and schemas inside."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MANIFEST = """\
name: of-a-third-party
role: relay
driver: process
command: ["{python}", -m, adapters.reference, "{role}"]
"""


def call(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    built = call([sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT], folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    done = call([programs / "python", "-m", "pip", "install", "--quiet", wheel], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return programs


def test_the_wheel_judges_a_manifest_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "adapter.yaml").write_text(MANIFEST, encoding="utf-8")
    done = call([installed / "pytest", "--pyargs", "conformance", "--adapter=./adapter.yaml"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "reports" / "results.json").read_text(encoding="utf-8"))
    assert results["complete"]
    assert results["counts"]["pass"] >= 100
    assert results["counts"]["fail"] == results["counts"]["error"] == 0
    lacking = [case for case in results["cases"] if case["outcome"] == "not_run"]
    assert all("tcp" in case["reason"] for case in lacking), lacking


def test_the_wheel_holds_vectors_schemas_and_commands(installed: Path, tmp_path: Path) -> None:
    lint = call([installed / "python", "-m", "conformance", "lint"], tmp_path)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    made = call([installed / "python", "-m", "conformance", "new-adapter", "mine", "--role", "relay"], tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    first = call([installed / "pytest", "--pyargs", "conformance", "--adapter=mine", "--vector=RELAY-001"], tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
