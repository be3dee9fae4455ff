"""`python -m conformance lint`: each fault with its file, line and reason; nothing but sentences for hostile input."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from conformance.__main__ import main

BAD = Path(__file__).parent / "bad_vectors"
GOOD = """\
id: GOOD-001
title: A vector without a fault
spec: delivery
role: device
clauses: [RCV-007]
steps:
  - register_handler
  - deliver: {as: A, from: bob}
  - expect: {handler_called: A}
  - handler_returns: A
  - expect: {deliver_ack: A}
"""


def written_faults(folder: Path) -> list[str]:
    """What the comments in the bad vectors say: `#! reason`, several on one line for several faults."""
    found: list[str] = []
    for path in sorted(folder.glob("*.yaml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [f"{path}:{number}: {reason}" for reason in re.split(r"\s+#! ", line)[1:]]
    return [fault.replace("HERE", str(folder)) for fault in found]


def lint(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, list[str]]:
    status = main(["lint", *map(str, paths)])
    printed = capsys.readouterr()
    assert printed.err == ""
    return status, printed.out.splitlines()


def test_each_fault_is_told_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = lint(capsys, BAD)
    faults = written_faults(BAD)
    assert lines == [*faults, f"{len(faults)} faults in 6 files."]
    assert status == 1


def test_a_clean_file_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    assert lint(capsys, tmp_path) == (0, ["1 case of 1 vector in 1 file, without a fault."])
    assert lint(capsys, tmp_path / "good.yaml") == (0, ["1 case of 1 vector in 1 file, without a fault."])


def test_an_id_is_unique_over_all_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(GOOD)
    second.write_text(GOOD)
    assert lint(capsys, first, second) == (
        1,
        [f"{second}:1: the id GOOD-001 is taken; see {first}:1.", "1 fault in 1 file."],
    )


def test_the_kit_s_own_vectors_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = lint(capsys)
    assert (status, lines[:-1]) == (0, [])
    assert lines[-1].endswith(", without a fault.")


def test_wrong_usage_has_a_status_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["lint", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err == f"There is no file or folder {tmp_path}/absent.\n"
    with pytest.raises(SystemExit, match="2"):
        main(["lnt"])


LAUGHS = "a: &a [x,x]\n" + "".join(f"{new}: &{new} [*{old},*{old}]\n" for old, new in zip("abc", "bcd", strict=True))
HOSTILE: list[tuple[bytes, list[str]]] = [
    (b"[" * 100_000, []),
    (b"[\n" * 100_000, ["33: this is nested deeper than 32 levels."]),
    (b"- " * 100_000, ["1: this is nested deeper than 32 levels."]),
    (b"\x7fELF\x02\x01\x01\x00\xff\xfe", ["1: the file is not UTF-8; save it as UTF-8."]),
    (b"#" * 2_000_000, ["1: the file is larger than 1048576 bytes; split it."]),
    (b"", ["1: the file holds no document; write one."]),
    (b"a\0b", ['1: the character U+0000 may not stand here; write it as "\\u\u2026" in double quotes.']),
    (b'"\\e[2J": 1', ["1: id is missing."]),
    (b"'\xe2\x80\xae': 1", ["1: id is missing."]),
]  # fmt: skip


@pytest.mark.parametrize(("data", "sentences"), HOSTILE)
def test_hostile_input_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes, sentences: list[str]
) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_bytes(data)
    status, lines = lint(capsys, path)
    assert status == 1
    assert set(lines) >= {f"{path}:{sentence}" for sentence in sentences}
    assert all(letter.isprintable() for line in lines for letter in line)


def test_aliases_are_never_expanded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "laughs.yaml"
    path.write_text(LAUGHS)
    status, lines = lint(capsys, path)
    assert status == 1
    assert lines.count(f"{path}:2: the alias *a may not stand here; write the value out.") == 1
    assert lines[-1] == "7 faults in 1 file."


def test_what_is_not_a_vector_file_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    folder.mkdir()
    assert lint(capsys, folder)[1][0] == f"{folder}:1: there is no vector here: no file ends in .yaml."
    outside = tmp_path / "outside.yaml"
    outside.write_text(GOOD)
    (folder / "link.yaml").symlink_to(outside)
    (folder / "other.yml").write_text(GOOD)
    os.mkfifo(folder / "pipe.yaml")
    assert lint(capsys, folder) == (
        1,
        [
            f"{folder}/link.yaml:1: this leads out of the folder; put the file itself here.",
            f"{folder}/other.yml:1: a file of vectors ends in .yaml; rename it.",
            f"{folder}/pipe.yaml:1: there is no such file, or it is not a regular one.",
            "3 faults in 3 files.",
        ],
    )
