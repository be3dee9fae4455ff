# ruff: noqa: E501 - a row of a table is one line
"""The schemas and the two contracts name the same things: no method, verb or kind in one and not in the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conformance.data_files import vectors_root
from conformance.schema import Schema, definitions
from reference_impl.wire.json_types import Json, JsonObject

ROOT = Path(__file__).parent.parent
FORMAT = (ROOT / "vectors" / "README.md").read_text(encoding="utf-8")
PROTOCOL = (ROOT / "adapters" / "PROTOCOL.md").read_text(encoding="utf-8")
DRIVER = ("driver-common.json", "driver-device.json", "driver-relay.json")


def section(text: str, heading: str) -> str:
    return re.split(r"^## ", text.split(f"\n## {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str, header: str) -> set[str]:
    """The words in backquotes in the first column of the tables whose header begins so."""
    tables = re.findall(rf"^\| {header} .*\n\|[-|]+\n((?:\|.*\n?)+)", text, flags=re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row.split(" | ", 1)[0])}


def defs(name: str) -> dict[str, Json]:
    found: dict[str, Json] = json.loads((vectors_root() / "schema" / name).read_text(encoding="utf-8"))["$defs"]
    return found


def named(prefix: str) -> set[str]:
    return {name.removeprefix(prefix) for name in defs("vector.json") if name.startswith(prefix)}


def bare_steps(role: str) -> set[str]:
    step = defs("vector.json")[f"{role}.bare_step"]
    assert isinstance(step, dict)
    words: list[str] = step["else"]["enum"]
    return set(words)


@pytest.mark.parametrize("path", sorted((vectors_root() / "schema").glob("*.json")), ids=lambda path: path.name)
def test_each_schema_is_a_schema(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(("role", "heading"), [("device", "Role `device`"), ("relay", "Role `relay`")])
def test_verbs_and_kinds_are_those_of_the_format(role: str, heading: str) -> None:
    text = section(FORMAT, heading)
    assert named(f"{role}.stimulus.") | bare_steps(role) == first_cells(text, "stimulus")
    assert named(f"{role}.expectation.") == first_cells(text, "expectation")


def methods() -> Iterator[str]:
    for header in ("kit sends", "method", "message", "driver sends"):
        yield from first_cells(PROTOCOL, header)


def test_every_method_of_the_protocol_has_its_definitions() -> None:
    known = {name.rsplit(".", 1)[0] for file in DRIVER for name in defs(file) if name.endswith(".params")}
    assert known == set(methods()) | {"crash.at_write"}


def test_the_role_files_repeat_nothing_of_the_common_one() -> None:
    common, *roles = ({name for name in defs(file) if name.endswith((".params", ".result"))} for file in DRIVER)
    assert [common & role for role in roles] == [set(), set()]


KEY, OTHER = "a" * 64, "b" * 64
ENVELOPE: JsonObject = {"end_to_end_version": 1, "recipient_pub": KEY, "ephemeral_pub": OTHER, "sealed": "garbage"}
MESSAGES: list[tuple[str, str, JsonObject, bool]] = [
    ("device", "relay.deliver_ack.params", {"session": "s", "blob_id": "7"}, True),
    ("device", "relay.deliver_ack.params", {"session": "s", "blob_id": "7", "outcome": "handled"}, True),
    ("device", "relay.deliver_ack.params", {"session": "s", "blob_id": "07"}, False),
    ("device", "relay.push.params", {"recipient": KEY, "envelope": {"any": 1}, "transport_version": 1, "x": 1}, True),
    ("device", "relay.push.params", {"recipient": KEY[:-1], "envelope": {}, "transport_version": 1}, False),
    ("device", "relay.push.result", {"outcome": "refused", "code": "inbox_full"}, True),
    ("device", "relay.push.result", {"outcome": "refused"}, False),
    ("device", "relay.push.result", {"outcome": "ack", "code": "inbox_full"}, False),
    ("device", "relay.deliver.params", {"session": "s", "blob_id": "1", "envelope": ENVELOPE}, True),
    ("device", "relay.deliver.params", {"session": "s", "blob_id": "1", "envelope": {**ENVELOPE, "x": 1}}, False),
    ("device", "issue.params", {"case": "unreadable", "reason": "expired"}, True),
    ("device", "issue.params", {"case": "unreadable"}, False),
    ("device", "issue.params", {"case": "unauthorized", "reason": "expired"}, False),
    ("device", "event.params", {"case": "statusChanged", "status": "member", "reason": None}, True),
    ("device", "send.result", {"message_id": "m", "more": 1}, True),
    ("device", "send.params", {"body": "", "more": 1}, False),
    ("device", "api-error", {"case": "payloadTooLarge", "max": 61440}, True),
    ("device", "api-error", {"case": "payloadTooLarge"}, False),
    ("device", "api-error", {"case": "noSuchCase"}, False),
    ("relay", "push.result", {"outcome": "refused", "code": "too_large"}, True),
    ("relay", "push.result", {"outcome": "lost"}, False),
    ("relay", "api-error", {"case": "settingRefused", "setting": "ttl"}, True),
    ("relay", "deliver.params", {"session": "s", "blob_id": "18446744073709551615", "envelope": ""}, True),
    ("relay", "initialize.result", {"name": "x", "version": "1", "role": "relay", "protocol_version": 1, "capabilities": ["clok"]}, False),
]  # fmt: skip


@pytest.mark.parametrize(("role", "name", "message", "fits"), MESSAGES)
def test_driver_messages(role: str, name: str, message: JsonObject, fits: bool) -> None:
    schema: Schema = definitions(("driver-common.json", f"driver-{role}.json"))[name]
    assert schema.holds(message) is fits
    assert (schema.explain(message) == "") is fits
