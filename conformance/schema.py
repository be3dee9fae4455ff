"""JSON Schemas of the kit: compiled once, fast to check, and translated into one sentence when they do not hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from conformance.data_files import vectors_root
from reference_impl.wire.json_types import Json, JsonObject

LONGEST = 300


class Schema:
    """One schema. `holds` says whether a value fits: the compiled one, since it is on the path of every message."""

    def __init__(self, schema: JsonObject) -> None:
        self._slow = Draft202012Validator(schema)
        self._fast = jsonschema_rs.Draft202012Validator(schema)
        self.holds: Callable[[Json], bool] = self._fast.is_valid

    def explain(self, value: Json) -> str:
        """Say in one sentence which field is wrong and why; empty if nothing is."""
        error = best_match(self._slow.iter_errors(value))
        if error is not None:
            return sentence(error)
        told = next(iter(self._fast.iter_errors(value)), None)
        return "" if told is None else _cut(told.message)


def sentence(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    return f"{where}: {_words(error)}" if where else _words(error)


def _words(error: ValidationError) -> str:
    described = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    if error.validator == "pattern" and described:
        return f"{_cut(repr(error.instance))} is not what belongs there: {str(described).rstrip('.')}"
    return _cut(error.message)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@cache
def read(name: str) -> JsonObject:
    """Read one of the kit's own schema files, such as `driver-device.json`."""
    path: Path = vectors_root() / "schema" / name
    loaded: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@cache
def definitions(names: tuple[str, ...]) -> Mapping[str, Schema]:
    """Compile every definition of these schema files, by its name. Later files win over earlier ones."""
    compiled: dict[str, Schema] = {}
    for name in names:
        defs = read(name)["$defs"]
        if isinstance(defs, Mapping):
            compiled.update({each: _one(name, each, defs) for each in _public(defs)})
    return compiled


def _public(defs: Mapping[str, Json]) -> Iterable[str]:
    return (name for name in defs if name.endswith((".params", ".result")) or name == "api-error")


def _one(file: str, name: str, defs: Mapping[str, Json]) -> Schema:
    draft = read(file)["$schema"]
    return Schema({"$schema": draft, "$ref": f"#/$defs/{name}", "$defs": defs})
