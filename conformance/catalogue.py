"""The clauses and the limits of a spec, as `vectors/spec/` states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from conformance.data_files import vectors_root
from conformance.schema_faults import file_schema
from conformance.strict_yaml import Document, Value, YamlError, load_documents

_MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "d": 86_400_000}


class Level(StrEnum):
    """How much a clause binds: breaking a MUST is a fail, a SHOULD a warning; a MAY is never demanded."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True, slots=True)
class Clause:
    """One demand of a spec. `open` names what it would take to show it, empty where a vector can."""

    id: str
    title: str
    text: str
    level: Level
    role: str
    source: str
    interpretation: str = ""
    open: str = ""
    open_reason: str = ""
    retired: str = ""

    @property
    def area(self) -> str:
        """The letters of the id, such as `SND`."""
        return self.id[:3]

    def binds(self, role: str) -> bool:
        """Whether a system of this role keeps or breaks the clause."""
        return self.role in (role, "both")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The clauses of one spec in the order of its areas; `areas` gives each area's name, such as `Sending`."""

    spec: str
    areas: Mapping[str, str]
    clauses: Mapping[str, Clause]


@dataclass(frozen=True, slots=True)
class Limit:
    """One number of a spec. `unit` is bytes, ms, s, min, d, count, per_second or version."""

    name: str
    value: int
    unit: str
    source: str
    clauses: tuple[str, ...]

    @property
    def in_kit_units(self) -> int:
        """Times in milliseconds, everything else as it is."""
        return self.value * _MILLISECONDS.get(self.unit, 1)


@cache
def catalogue(spec: str = "delivery") -> Catalogue:
    """The catalogue of that spec as the kit ships it."""
    return load_catalogue(vectors_root() / "spec" / f"{spec}.yaml")


@cache
def limits() -> Mapping[str, Limit]:
    """Every limit by its name, as the kit ships them."""
    return load_limits(vectors_root() / "spec" / "limits.yaml")


def load_catalogue(path: Path) -> Catalogue:
    """The catalogue in that file. Raises `YamlError` for the first fault."""
    document, root = _load(path, "clauses.json")
    areas = {area: str(name) for area, name in _mapping(root["areas"]).items()}
    clauses: dict[str, Clause] = {}
    for number, entry in enumerate(_list(root["clauses"])):
        clause = _clause(_mapping(entry))
        line = document.line_of(("clauses", number, "id"))
        if clause.id in clauses:
            raise YamlError(path, line, f"the clause id {clause.id} stands twice.")
        if clause.area not in areas:
            raise YamlError(path, line, f"the area of {clause.id} is not among areas.")
        clauses[clause.id] = clause
    order = list(areas)
    ordered = sorted(clauses.values(), key=lambda clause: (order.index(clause.area), clause.id))
    return Catalogue(str(root["spec"]), areas, {clause.id: clause for clause in ordered})


def load_limits(path: Path) -> Mapping[str, Limit]:
    """The limits in that file by name. Raises `YamlError` for the first fault."""
    document, root = _load(path, "limits.json")
    found: dict[str, Limit] = {}
    for number, entry in enumerate(_list(root["limits"])):
        fields = _mapping(entry)
        limit = Limit(
            str(fields["name"]),
            int(str(fields["value"])),
            str(fields["unit"]),
            str(fields["source"]),
            tuple(str(each) for each in _list(fields["clauses"])),
        )
        if limit.name in found:
            raise YamlError(path, document.line_of(("limits", number)), f"the limit {limit.name} stands twice.")
        found[limit.name] = limit
    return found


def _load(path: Path, schema: str) -> tuple[Document, dict[str, Value]]:
    documents = load_documents(path)
    if len(documents) > 1:
        raise YamlError(path, documents[1].line_of(()), "this file holds one document only.")
    document = documents[0]
    for fault in file_schema(schema).faults(document.value):
        where = ".".join(str(part) for part in fault.node)
        raise YamlError(path, document.line_of(fault.node), f"{where}: {fault.reason}" if where else fault.reason)
    return document, _mapping(document.value)


def _clause(fields: dict[str, Value]) -> Clause:
    texts = {name: str(value) for name, value in fields.items() if name != "level"}
    return Clause(level=Level(str(fields["level"])), **texts)


def _mapping(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise TypeError("the schema lets only a mapping stand here")
    return value


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise TypeError("the schema lets only a list stand here")
    return value
