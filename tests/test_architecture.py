"""The arrows between the rooms run one way: nothing imports upwards, and the reference knows nothing of the kit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "reference_impl": {"reference_impl"},
    # The wire, and the crash that a store simulates: nothing else of the reference is known to the engine.
    "conformance": {"conformance", "reference_impl.wire", "reference_impl.durability"},
    "adapters": {"adapters", "reference_impl"},
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in {*MAY_IMPORT, "reports", "tests"}


def is_allowed(name: str, room: str) -> bool:
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in MAY_IMPORT[room])


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_run_one_way(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(room)
        for name in imported(path)
        if is_ours(name) and not is_allowed(name, room)
    ]
    assert wrong == []


def test_the_engine_knows_no_spec() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules("conformance/engine")
        for name in imported(path)
        if name.startswith("conformance.delivery")
    ]
    assert wrong == []


def test_names_say_what_a_module_is_about() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for room in (*MAY_IMPORT, "tests")
        for path in modules(room)
        if FORBIDDEN_NAMES & {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
    ]
    assert wrong == []
