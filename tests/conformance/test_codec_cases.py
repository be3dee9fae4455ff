# ruff: noqa: E501 - a row of a table is one line
"""Codec cases: where their data comes from, what is wrong with a file of them, and how a failure is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from adapters.mutants.codec import MUTANTS
from adapters.reference.codec_calls import CodecCalls
from adapters.reference.codec_params import Call
from adapters.reference.in_process import Boot, boot_relay
from conformance.catalogue import catalogue
from conformance.codec.difference import Difference, first_difference
from conformance.codec.files import load_codec_cases, scan_codec, scan_codec_file
from conformance.codec.values import each_prefix, expanded
from conformance.codec.world import codec_role
from conformance.data_files import vectors_root
from conformance.drivers.in_process import InProcessLink
from conformance.engine.run import Finding, Runner
from conformance.outcome import Outcome
from conformance.roles import ROLES
from conformance.schema import definitions
from conformance.strict_yaml import Value
from conformance.system import System, Timeouts
from reference_impl.relay.relay import Relay
from reference_impl.wire.json_types import Json, JsonObject
from tests.codec_vectors.every_file import FILES
from tests.codec_vectors.writing import CodecFile, Vector, gives
from tests.kit import run


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_data_is_what_the_oracles_compute(file: CodecFile) -> None:
    committed = (vectors_root() / "codec" / file.name).read_text(encoding="utf-8")
    assert committed == file.text(), "write it anew with: python -m tests.codec_vectors"


def test_there_is_no_other_data() -> None:
    assert {path.name for path in (vectors_root() / "codec").iterdir()} == {file.name for file in FILES}


def findings_of(mutant: str, case: str) -> Finding:
    chosen = [each for each in load_codec_cases() if each.id == case]
    (finding,) = run(next(each for each in MUTANTS if each.name == mutant), chosen).values()
    return finding


TOLD = [
    (
        "codec-little-endian-length",
        "FRAME-001[push]",
        "codec.encode_frame: data is wrong, first at byte 1",
        "data: 01[00]00002b404142434445464748494a4b4c… (48 bytes)",
        "data: 01[2b]000000404142434445464748494a4b4c… (48 bytes)",
    ),
    (
        "codec-passes-over-more",
        "FRAME-003[ack-with-a-byte-behind-it]",
        "codec.decode_frame: the answer is wrong",
        "the answer: refused as malformed",
        'the answer: {"frame": {"type": "ack"}}',
    ),
    (
        "codec-takes-unauthenticated",
        "NOISE-005[xx-message-4-at-every-byte]",
        "codec.noise_handshake of messages.3.read cut after 0 bytes: the answer is wrong",
        "the answer: refused as unauthenticated or malformed",
        "the answer: {",
    ),
    (
        "codec-counts-tag-twice",
        "FRAME-007[envelope-of-65482-bytes]",
        "codec.decode_frame: the answer is wrong",
        'the answer: {"frame": {"type": "push"',
        "the answer: refused as malformed",
    ),
    (
        "codec-writes-no-ports",
        "ADDR-003[default-receive-port]",
        "codec.format_relay_address: text is wrong",
        ":7700?push=9001, or 1 other that the spec allows",
        "text: trueseal://",
    ),
]


@pytest.mark.parametrize(("mutant", "case", "reason", "expected", "observed"), TOLD)
def test_a_failure_names_the_field_and_the_first_byte(
    mutant: str, case: str, reason: str, expected: str, observed: str
) -> None:
    finding = findings_of(mutant, case)
    assert finding.outcome is Outcome.FAIL
    assert finding.reason == reason
    assert expected in finding.expected
    assert observed in finding.observed
    assert [record.source for record in finding.history] == ["kit", "system"]


DIFFERENCES: list[tuple[Value, Json, Difference | None]] = [
    ({"data": "00ff"}, {"data": "00ff", "more": 1}, None),
    ({"data": "00ff"}, {"data": "00fe"}, Difference("data", "first at byte 1", "00[ff] (2 bytes)", "00[fe] (2 bytes)")),
    ({"data": "00ff"}, {"data": "00"}, Difference("data", "first at byte 1", "00[ff] (2 bytes)", "00[end] (1 byte)")),
    ({"data": ""}, {"data": "07"}, Difference("data", "first at byte 0", "[end] (0 bytes)", "[07] (1 byte)")),
    ({"data": "00"}, {}, Difference("data", "", "00", "nothing")),
    ({"host": "a.b"}, {"host": "a.c"}, Difference("host", "", "a.b", "a.c")),
    ({"port": 1}, {"port": True}, Difference("port", "", "1", "true")),
    ({"key": None}, {"key": "00"}, Difference("key", "", "null", "00")),
    ({"key": None}, {"key": None}, None),
    ({"list": ["00", "01"]}, {"list": ["00", "02"]}, Difference("list 2", "first at byte 0", "[01] (1 byte)", "[02] (1 byte)")),
    ({"list": ["00"]}, {"list": ["00", "02"]}, Difference("list", "", "1 entry", "2 entries")),
    ({"frame": {"type": "ack"}}, {"frame": {"type": "push"}}, Difference("frame.type", "", "ack", "push")),
    ({"frame": {"type": "ack"}}, {"frame": []}, Difference("frame", "", '{"type": "ack"}', "[]")),
    ({"data": {"sha256": sha256(b"ab").hexdigest(), "bytes": 2}}, {"data": "6162"}, None),
    (
        {"data": {"sha256": sha256(b"ab").hexdigest(), "bytes": 2}},
        {"data": "61"},
        Difference("data", "", f"2 bytes with the SHA-256 {sha256(b'ab').hexdigest()}", f"1 byte with the SHA-256 {sha256(b'a').hexdigest()}"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "observed", "difference"), DIFFERENCES)
def test_the_first_difference(expected: Value, observed: Json, difference: Difference | None) -> None:
    assert first_difference(expected, observed) == difference


def test_values_are_written_out_and_cut() -> None:
    assert expanded({"a": [{"join": ["00", {"repeat": "e5", "times": 3}]}], "b": 1}) == {"a": ["00e5e5e5"], "b": 1}
    assert each_prefix({"data": "aabb", "n": 1}, "data") == [({"data": "", "n": 1}, 0), ({"data": "aa", "n": 1}, 1)]
    inner: Value = {"list": [{"read": "cc"}, {"read": "aabb"}]}
    assert each_prefix(inner, "list.1.read") == [
        ({"list": [{"read": "cc"}, {"read": ""}]}, 0),
        ({"list": [{"read": "cc"}, {"read": "aa"}]}, 1),
    ]


GOOD = CodecFile(
    "own.json",
    "A file",
    [Vector("OWN-001", "A title", "CDC-001", "encode_frame", [gives("ack", {"frame": {"type": "ack"}}, {"data": "0400000000"})])],
).text()  # fmt: skip
SPOILT = [
    ("CDC-001", "CDC-099", "7", "clauses: CDC-099 does not exist"),
    ("codec.encode_frame", "codec.encode", "7", "vectors.0.method: `codec.encode` is not allowed"),
    (
        '"case": "ack"',
        '"case": "An ack"',
        "12",
        "vectors.0.cases.0.case: `An ack` must be lower-case words with hyphens",
    ),
    ('"result"', '"results"', "12", "results is unknown here (did you mean result?)"),
    ('"title": "A title"', '"id": "OWN-002"', "1", "the key id stands twice in one object"),
    ('"data": "0400000000"', '"data": 1.5', "1", "1.5 is a different number to each reader"),
    ('"0400000000"', '"0400000000', "12", "this is not the JSON of a codec file"),
    ("draft-1", "draft-2", "1", "profile: `draft-2` is not allowed (did you mean draft-1?)"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "said"), SPOILT)
def test_a_fault_of_a_file_is_told_in_place(right: str, wrong: str, line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(GOOD, encoding="utf-8")
    assert [case.id for case in scan_codec_file(path)[0]] == ["OWN-001[ack]"]
    assert right in GOOD
    path.write_text(GOOD.replace(right, wrong, 1), encoding="utf-8")
    faults = [str(fault) for fault in scan_codec_file(path)[1]]
    assert any(fault.startswith(f"{path}:{line}: ") and said in fault for fault in faults), faults


def test_an_id_that_stands_twice_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "codec"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        (folder / name).write_text(GOOD, encoding="utf-8")
    assert [fault.reason for fault in scan_codec(tmp_path).faults] == [
        "the case OWN-001[ack] stands twice; ids are unique."
    ]


def test_each_case_has_its_line() -> None:
    for case in load_codec_cases():
        path = vectors_root() / case.location.removeprefix("vectors/")
        row = json.loads(path.read_text(encoding="utf-8").splitlines()[case.line - 1].rstrip().rstrip(","))
        assert f"{case.vector}[{row['case']}]" == case.id


class KnowsFramesOnly(CodecCalls):
    def calls(self) -> Mapping[str, Call]:
        return {name: call for name, call in super().calls().items() if name.endswith("_frame")}


def test_a_method_that_is_not_offered_is_not_run() -> None:
    role = codec_role(ROLES["relay"])

    def new_disk() -> Boot:
        return boot_relay(Relay, KnowsFramesOnly)()

    runner = Runner(role, System(InProcessLink(new_disk), "relay", definitions(role.schemas), Timeouts()), catalogue())
    found: dict[str, JsonObject] = {}
    for case in load_codec_cases():
        finding = runner.run(case)
        found[case.vector] = {"outcome": str(finding.outcome), "reason": finding.reason}
    assert found["FRAME-001"] == {"outcome": "pass", "reason": ""}
    assert found["MSGID-001"] == {"outcome": "not_run", "reason": "the driver does not offer codec.message_id"}
