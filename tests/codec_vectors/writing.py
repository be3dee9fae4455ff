"""A codec file as text: one line a row, so that a change to one is one line of a diff."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference_impl.wire.json_types import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Vector:
    id: str
    title: str
    clause: str
    method: str
    cases: Sequence[JsonObject]
    interpretation: str = ""

    def head(self) -> JsonObject:
        words: JsonObject = {"interpretation": self.interpretation} if self.interpretation else {}
        return {"id": self.id, "title": self.title, "clauses": [self.clause], "method": f"codec.{self.method}", **words}


@dataclass(frozen=True, slots=True)
class CodecFile:
    name: str
    subject: str
    vectors: Sequence[Vector]
    origin: JsonObject = field(default_factory=dict)

    def text(self) -> str:
        head: JsonObject = {
            "$schema": "../schema/codec.json",
            "subject": self.subject,
            "profile": "draft-1",
            **self.origin,
        }
        lines = ["{", *(f" {one(name)}: {one(value)}," for name, value in head.items()), ' "vectors": [']
        lines.append(",\n".join(_vector(each) for each in self.vectors))
        return "\n".join([*lines, " ]", "}", ""])


def _vector(vector: Vector) -> str:
    head = [f"   {one(name)}: {one(value)}," for name, value in vector.head().items()]
    rows = ",\n".join(f"    {one(row)}" for row in vector.cases)
    return "\n".join(["  {", *head, '   "cases": [', rows, "   ]", "  }"])


def one(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True)


def gives(name: str, params: JsonObject, result: JsonObject) -> JsonObject:
    return {"case": name, "params": params, "result": result}


def refused(name: str, params: JsonObject, *reasons: str) -> JsonObject:
    return {"case": name, "params": params, "refused": list(reasons)}


def cut(name: str, params: JsonObject, path: str, *reasons: str) -> JsonObject:
    return {"case": name, "params": params, "every_prefix_of": path, "refused": list(reasons)}


def either(name: str, params: JsonObject, *outcomes: JsonObject) -> JsonObject:
    return {"case": name, "params": params, "any_of": list(outcomes)}


def read_back(  # noqa: PLR0913 - one row has so many parts
    name: str, params: JsonObject, method: str, given: JsonObject, result: JsonObject, *, at_most: int = 0
) -> JsonObject:
    """The bytes that come are right if a reader gives that for them, however their fields stand."""
    limit: JsonObject = {"at_most": at_most} if at_most else {}
    return {"case": name, "params": params, "read_back": {"method": method, "with": given, "result": result, **limit}}
