"""Reading vectors: rows become cases, steps keep their lines, faults become one exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.vector import Case, VectorsError, load_vectors

HEAD = "id: V-001\ntitle: t\nspec: delivery\nrole: device\nclauses: [RPW-001]\n"
ROWS = (
    HEAD
    + """\
requires: [clock]
setup: {handler: $answer}
for_each:
  - {case: exactly-60d, age: 60d, answer: holds, number: 3, seen: {handler_called: A}}
  - {case: 60d-and-1ms, age: 60d+1ms, answer: throws, number: 4, seen: {issue: {case: unreadable, reason: expired}}}
steps:
  - deliver: {as: A, from: bob, sent: -$age, sequence: $number, body: "$number of $case"}
  - expect: $seen
"""
)


def load(folder: Path, text: str) -> list[Case]:
    path = folder / "a.yaml"
    path.write_text(text)
    return load_vectors(path)


def test_a_row_is_a_case_of_its_own(tmp_path: Path) -> None:
    first, second = load(tmp_path, ROWS)
    assert [first.id, second.id] == ["V-001[exactly-60d]", "V-001[60d-and-1ms]"]
    assert {first.vector, second.vector} == {"V-001"}
    assert (first.setup, second.setup) == ({"handler": "holds"}, {"handler": "throws"})
    assert first.steps[0].argument == {
        "as": "A",
        "from": "bob",
        "sent": "-60d",
        "sequence": 3,
        "body": "3 of exactly-60d",
    }
    assert second.steps[1].argument == {"issue": {"case": "unreadable", "reason": "expired"}}
    assert second.requires == ("clock",)


def test_steps_know_their_place(tmp_path: Path) -> None:
    (case,) = load(tmp_path, HEAD + "steps:\n  - kill\n  - start:\n      connected: false\n  - expect: nothing\n")
    assert [(step.number, step.verb, step.argument, step.line, step.text) for step in case.steps] == [
        (1, "kill", None, 7, "kill"),
        (2, "start", {"connected": False}, 8, "start: {connected: false}"),
        (3, "expect", "nothing", 10, "expect: nothing"),
    ]
    assert (case.line, case.location) == (1, str(tmp_path / "a.yaml"))


def test_a_bare_kind_reads_like_an_empty_argument(tmp_path: Path) -> None:
    steps = "steps:\n  - kill\n  - expect: died\n  - expect: {any_of: [[died], [{died: {}}, session_opened], []]}\n"
    (case,) = load(tmp_path, HEAD + steps)
    assert case.steps[1].argument == {"died": {}}
    assert case.steps[2].argument == {"any_of": [[{"died": {}}], [{"died": {}}, {"session_opened": {}}], []]}


def test_defaults_are_empty(tmp_path: Path) -> None:
    (case,) = load(tmp_path, HEAD + "steps:\n  - kill\n")
    assert (case.requires, case.setup, case.allow, case.hostile, case.swept) == ((), {}, (), False, False)
    assert (case.not_swept, case.incident, case.note, case.interpretation) == ("", "", "", "")


def test_cases_come_in_the_order_of_files_and_documents(tmp_path: Path) -> None:
    for name, ids in (("b.yaml", "AC"), ("a/z.yaml", "DB")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        texts = [HEAD.replace("V-001", f"V-{letter}") + "steps:\n  - kill\n" for letter in ids]
        (tmp_path / name).write_text("---\n".join(texts))
    assert [case.id for case in load_vectors(tmp_path)] == ["V-D", "V-B", "V-A", "V-C"]


def test_the_kit_s_own_files_are_named_from_their_root() -> None:
    assert {case.location.split("/")[0] for case in load_vectors()} == {"vectors"}


def test_one_exception_holds_every_fault(tmp_path: Path) -> None:
    with pytest.raises(VectorsError) as caught:
        load(tmp_path, HEAD + "steps:\n  - kil\n  - expect: {handler_called: 5}\n")
    path = tmp_path / "a.yaml"
    assert str(caught.value).splitlines() == [
        f"{path}:7: step 1: `kil` is not allowed (did you mean kill?).",
        f"{path}:8: step 2, expect.handler_called: 5 must be text.",
    ]
