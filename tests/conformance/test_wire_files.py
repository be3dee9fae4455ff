"""What lint says about a wire profile that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.data_files import vectors_root
from conformance.wire_files import wire_faults, wire_file_faults

DRAFT = (vectors_root() / "spec" / "wire-draft-1.yaml").read_text(encoding="utf-8")
SPOILT = [
    ("{byte: \"11\"", "{byte: \"10\"", "error_reasons: the byte 10 stands twice."),
    ("code: rate_limited", "code: inbox_full", "error_reasons: the code inbox_full stands twice."),
    ("code: rate_limited", "code: too_fast", "error_reasons.4.code: `too_fast` is not allowed"),
    ("inexpressible: []", "inexpressible: [{clause: RLY-999, because: no}]", "is a truth value to some readers"),
    ("inexpressible: []", "inexpressible: [{clause: RLY-999, because: nothing}]", "RLY-999 does not exist"),
    ('magic: "5453"', 'magic: "545"', "must be whole bytes as lower-case hex"),
    ('  magic: "5453"\n', "", "version_prefix: magic is missing."),
    ("name: draft-1\n", "name: draft-2\n", "holds the profile draft-2; name both alike."),
    ("unknown: error\n", "unknown: error\n  other: 1\n", "other is unknown here"),
]  # fmt: skip


def test_the_profiles_of_the_kit_are_right() -> None:
    assert wire_faults() == []


@pytest.mark.parametrize(("right", "wrong", "said"), SPOILT)
def test_each_fault_is_told_with_its_line(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    assert DRAFT.count(right) >= 1
    path = tmp_path / "wire-draft-1.yaml"
    path.write_text(DRAFT.replace(right, wrong, 1), encoding="utf-8")
    (fault,) = wire_file_faults(path)
    assert said in str(fault)
    assert str(fault).startswith(f"{path}:{fault.line}: ")
    line = DRAFT[: DRAFT.index(right)].count("\n") + 1
    assert abs(fault.line - line) <= 2


def test_a_second_document_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "wire-draft-1.yaml"
    path.write_text(f"{DRAFT}---\n{DRAFT}", encoding="utf-8")
    assert [fault.reason for fault in wire_file_faults(path)] == ["a profile is one document; delete the others."]
