# ruff: noqa: E501 - a row of a table is one line
"""Strict YAML: one reading a scalar, a line for every fault, and never another error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.strict_yaml import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    Value,
    YamlError,
    load_documents,
    scan_documents,
)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def fault_of(folder: Path, text: str | bytes) -> str:
    with pytest.raises(YamlError) as caught:
        load_documents(write(folder, text))
    return str(caught.value).removeprefix(f"{folder}/")


GOOD: list[tuple[str, Value]] = [
    ("a: 1", {"a": 1}),
    ("a: -7", {"a": -7}),
    ("a: 0", {"a": 0}),
    ("a: 18446744073709551615", {"a": 2**64 - 1}),
    ("a: true\nb: false\nc: null", {"a": True, "b": False, "c": None}),
    ("a: 60d+1ms", {"a": "60d+1ms"}),
    ("a: -40d", {"a": "-40d"}),
    ("a: -$age", {"a": "-$age"}),
    ("a: $age", {"a": "$age"}),
    ("a: PREFIX-*", {"a": "PREFIX-*"}),
    ('a: "no"', {"a": "no"}),
    ("a: 'yes'", {"a": "yes"}),
    ('"y": ""', {"y": ""}),
    ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
    ("- a\n- {b: [c, 'd']}", ["a", {"b": ["c", "d"]}]),
    ("hi", "hi"),
    ("a: github.com/x/y", {"a": "github.com/x/y"}),
    ("a: \u00e4 \U0001f600", {"a": "\u00e4 \U0001f600"}),
    ('a: "\\0\\u2028"', {"a": "\0\u2028"}),
    ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
]


@pytest.mark.parametrize(("text", "value"), GOOD)
def test_plain_data_is_read(tmp_path: Path, text: str, value: Value) -> None:
    assert [document.value for document in load_documents(write(tmp_path, text))] == [value]


NUMBERS = "is a different number to each reader; write a decimal integer, or"
TRUTH = "is a truth value to some readers; write true or false, or"
BAD: list[tuple[str, str]] = [
    ("a: yes", f'a.yaml:1: yes {TRUTH} "yes" for the text.'),
    ("x: 1\na: No", f'a.yaml:2: No {TRUTH} "No" for the text.'),
    ("on: s1", 'a.yaml:1: the key `on` must be text; write "on".'),
    ("a: on", f'a.yaml:1: on {TRUTH} "on" for the text.'),
    ("a: OFF", f'a.yaml:1: OFF {TRUTH} "OFF" for the text.'),
    ("a: y", f'a.yaml:1: y {TRUTH} "y" for the text.'),
    ("a: N", f'a.yaml:1: N {TRUTH} "N" for the text.'),
    ("a: True", "a.yaml:1: True may not be a truth value; write true."),
    ("a: FALSE", "a.yaml:1: FALSE may not be a truth value; write false."),
    ("a: Null", "a.yaml:1: Null may not stand for null; write null."),
    ("a: ~", "a.yaml:1: ~ may not stand for null; write null."),
    ("a:", "a.yaml:1: the value is empty; write null, or a value."),
    ("a: 1:30", f'a.yaml:1: 1:30 {NUMBERS} "1:30".'),
    ("a: 010", f'a.yaml:1: 010 {NUMBERS} "010".'),
    ("a: 09", f'a.yaml:1: 09 {NUMBERS} "09".'),
    ("a: 1_000", f'a.yaml:1: 1_000 {NUMBERS} "1_000".'),
    ("a: .5", f'a.yaml:1: .5 {NUMBERS} ".5".'),
    ("a: 1.5", f'a.yaml:1: 1.5 {NUMBERS} "1.5".'),
    ("a: 1e3", f'a.yaml:1: 1e3 {NUMBERS} "1e3".'),
    ("a: +5", f'a.yaml:1: +5 {NUMBERS} "+5".'),
    ("a: -0", f'a.yaml:1: -0 {NUMBERS} "-0".'),
    ("a: 0x1F", 'a.yaml:1: 0x1F is a number in another base; write it in decimal, or "0x1F" for the text.'),
    ("a: 0b11", 'a.yaml:1: 0b11 is a number in another base; write it in decimal, or "0b11" for the text.'),
    ("a: 0o17", 'a.yaml:1: 0o17 is a number in another base; write it in decimal, or "0o17" for the text.'),
    ("a: .inf", 'a.yaml:1: .inf is not an integer; write an integer, or ".inf" for the text.'),
    ("a: .NaN", 'a.yaml:1: .NaN is not an integer; write an integer, or ".NaN" for the text.'),
    ("a: 2030-01-01", 'a.yaml:1: 2030-01-01 is a date to some readers; write "2030-01-01" for the text.'),
    ("a: 2030-1-1 10:00:00", 'a.yaml:1: 2030-1-1 10:00:00 is a date to some readers; write "2030-1-1 10:00:00" for the text.'),
    ("a: 18446744073709551616", "a.yaml:1: the integer `18446744073709551616` is too large; write it in quotes."),
    ("a: " + "9" * 5000, "a.yaml:1: the integer `" + "9" * 39 + "…` is too large; write it in quotes."),
    ("a: =", 'a.yaml:1: a plain = has a meaning of its own to some readers; write "=".'),
    ("a: 1\nb: 2\na: 3", "a.yaml:3: the key `a` stands twice; the first is in line 1."),
    ("x:\n  a: {}\n  a: []", "a.yaml:3: the key `a` stands twice; the first is in line 2."),
    ("1: x", 'a.yaml:1: the key `1` must be text; write "1".'),
    ("no: x", 'a.yaml:1: the key `no` must be text; write "no".'),
    ("true: x", 'a.yaml:1: the key `true` must be text; write "true".'),
    ("<<: {a: 1}", 'a.yaml:1: the key `<<` must be text; write "<<".'),
    ("? [a]\n: 1", "a.yaml:1: a key must be text, not a list or a mapping."),
    ("a: &x 1", "a.yaml:1: the anchor &x may not stand here; write the value where it is used."),
    ("a: *x", "a.yaml:1: the alias *x may not stand here; write the value out."),
    ("*x : 1", "a.yaml:1: the alias *x may not stand here; write the value out."),
    ("a: !!str 5", "a.yaml:1: the tag tag:yaml.org,2002:str may not stand here; write the value plainly or in quotes."),
    ("a: !!python/object/apply:os.system [x]", "a.yaml:1: the tag tag:yaml.org,2002:python/object/apply:os.system may not stand here; write the value plainly or in quotes."),
    ("a: !x {}", "a.yaml:1: the tag !x may not stand here; write the value plainly or in quotes."),
    ("%YAML 1.1\n---\na: 1", "a.yaml:1: a % directive may not stand here; delete it."),
    ("", "a.yaml:1: the file holds no document; write one."),
    ("# only words\n", "a.yaml:1: the file holds no document; write one."),
    ("a: 1\n---\n", "a.yaml:2: the value is empty; write null, or a value."),
    ("[" * 100, f"a.yaml:1: this is nested deeper than {MAX_DEPTH} levels."),
    ("{a: " * 100, f"a.yaml:1: this is nested deeper than {MAX_DEPTH} levels."),
    ("- " * 5000 + "a", f"a.yaml:1: this is nested deeper than {MAX_DEPTH} levels."),
    ("a: 1\nb: \x00", 'a.yaml:2: the character U+0000 may not stand here; write it as "\\u…" in double quotes.'),
    ("\ufeffa: 1", 'a.yaml:1: the character U+FEFF may not stand here; write it as "\\u…" in double quotes.'),
    ("a: \u2028", 'a.yaml:1: the character U+2028 may not stand here; write it as "\\u…" in double quotes.'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_what_two_readers_could_take_differently_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    assert fault_of(tmp_path, text) == sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1", 1),
        ("a: [1\n", 1),
        ("a: b: c", 1),
        ("a: 1\n\tb: 2", 2),
        ("a: 'x\n", 1),
        ("a: 1\n b: 2", 2),
        ("a: @x", 1),
        ("}", 1),
    ],
)
def test_what_the_parser_cannot_read_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert fault_of(tmp_path, text).startswith(f"a.yaml:{line}: this is not YAML: ")


def test_bytes_that_are_not_utf8_name_their_line(tmp_path: Path) -> None:
    assert fault_of(tmp_path, b"a: 1\nb: \xff") == "a.yaml:2: the file is not UTF-8; save it as UTF-8."
    utf16 = "a: 1".encode("utf-16")
    assert fault_of(tmp_path, utf16) == "a.yaml:1: the file is not UTF-8; save it as UTF-8."


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    sentence = f"a.yaml:1: the file is larger than {MAX_FILE_BYTES} bytes; split it."
    assert fault_of(tmp_path, b"#" * (MAX_FILE_BYTES + 1)) == sentence


def test_a_billion_laughs_are_not_expanded(tmp_path: Path) -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{new}: &{new} [{','.join(['*' + old] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    documents, faults = scan_documents(write(tmp_path, "\n".join(lines)))
    assert len(documents) == 1
    assert len(faults) == 9 + 8 * 9


@pytest.mark.parametrize("name", ["absent.yaml", ".", "nul\0.yaml"])
def test_what_is_no_file_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(YamlError, match=r":1: .*\.$"):
        load_documents(f"{tmp_path}/{name}")


def test_every_fault_is_found_in_line_order(tmp_path: Path) -> None:
    _, faults = scan_documents(write(tmp_path, "a: yes\nb: &x 010\nb: ~\n---\nc: 1:30\n"))
    assert [fault.line for fault in faults] == [1, 2, 2, 3, 3, 5]


def test_each_node_knows_its_line(tmp_path: Path) -> None:
    text = (
        "a: 1\nsteps:\n  - kill\n  - deliver: {as: A,\n      from: bob}\n  -\n    expect:\n      nothing\n---\nb: 2\n"
    )
    first, second = load_documents(write(tmp_path, text))
    paths: list[tuple[str | int, ...]] = [
        (), ("steps",), ("steps", 0), ("steps", 1, "deliver"), ("steps", 1, "deliver", "from"), ("steps", 2, "expect"),
    ]  # fmt: skip
    assert [first.line_of(path) for path in paths] == [1, 2, 3, 4, 5, 7]
    assert first.line_of(("steps", 1, "deliver", "absent", 3)) == 4
    assert second.line_of(("b",)) == 10


YAML_LIKE = st.text(
    alphabet=st.sampled_from("ab01:-?#&*!|>'\"%@`{}[],<=~._+exy \t\n\\\x00\u2028\ufeff\u00e4"), max_size=60
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=60), YAML_LIKE.map(str.encode)))
def test_no_input_gives_any_other_error(tmp_path: Path, data: bytes) -> None:
    documents, faults = scan_documents(write(tmp_path, data))
    assert documents or faults
    for fault in faults:
        assert str(fault) == f"{fault.path}:{fault.line}: {fault.reason}"
        assert "\n" not in str(fault)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=40))
def test_any_text_in_double_quotes_comes_back(tmp_path: Path, text: str) -> None:
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in text)
    (document,) = load_documents(write(tmp_path, f'a: "{escaped}"'))
    assert document.value == {"a": text}
