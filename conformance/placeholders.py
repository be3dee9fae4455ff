"""`for_each`: a vector once a row, with the row's values in place of the `$names`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.schema_faults import SchemaFault, file_schema, nearest
from conformance.strict_yaml import NodePath, Value

_NAME = re.compile(r"\$([a-z][a-z0-9_]*)")
_FIXED = ("id", "for_each")


@dataclass(frozen=True, slots=True)
class Row:
    """One case of a vector: the row's name, empty for a vector without rows, and the vector with its values."""

    name: str
    vector: dict[str, Value]


def expand(vector: dict[str, Value]) -> tuple[list[Row], list[SchemaFault]]:
    """The vector once for each row of its `for_each`, or once; and what is wrong with rows and placeholders."""
    used = {name: node for key, value in vector.items() if key not in _FIXED for name, node in _names(value, (key,))}
    if "for_each" not in vector:
        lone = "is a placeholder, and the vector has no for_each."
        return [Row("", vector)], [SchemaFault(node, f"${name} {lone}") for name, node in used.items()]
    rows = vector["for_each"]
    faults = [
        SchemaFault(("for_each", *fault.node), fault.reason)
        for fault in file_schema("vector.json", "rows").faults(rows)
    ]
    if faults or not isinstance(rows, list):
        return [], faults
    tables = [row for row in rows if isinstance(row, dict)]
    faults = [fault for number, row in enumerate(tables) for fault in _row_faults(number, row, used)]
    shared = {key: value for key, value in vector.items() if key != "for_each"}
    faults += [*_repeated(tables), *_badly_inserted(shared, tables)]
    return [] if faults else [Row(str(row["case"]), _filled_mapping(shared, row)) for row in tables], faults


def _names(value: Value, node: NodePath) -> Iterator[tuple[str, NodePath]]:
    """Every placeholder in the value, with where it stands."""
    if isinstance(value, str):
        for name in _NAME.findall(value):
            yield name, node
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _names(each, (*node, number))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _names(each, (*node, key))


def _row_faults(number: int, row: Mapping[str, Value], used: Mapping[str, NodePath]) -> Iterator[SchemaFault]:
    names = [name for name in row if name != "case"]
    for name in used:
        if name not in row:
            yield SchemaFault(("for_each", number), f"the row has no value for ${name}{nearest(name, names)}.")
    for name in names:
        node: NodePath = ("for_each", number, name)
        if name not in used:
            yield SchemaFault(node, f"${name} is used nowhere in the vector{nearest(name, used)}.")
        for inner, _ in _names(row[name], node):
            yield SchemaFault(node, f"${inner} may not stand in a row; write the value.")


def _repeated(rows: list[dict[str, Value]]) -> Iterator[SchemaFault]:
    seen: set[str] = set()
    for number, row in enumerate(rows):
        case = str(row["case"]).casefold()
        if case in seen:
            yield SchemaFault(("for_each", number, "case"), f"two rows are called {row['case']}.")
        seen.add(case)


def _badly_inserted(shared: dict[str, Value], rows: list[dict[str, Value]]) -> list[SchemaFault]:
    """A list or mapping can stand for a whole value only, never inside a text."""
    inserted = {name for text in _texts(shared) for name in _NAME.findall(text) if text != f"${name}"}
    return [
        SchemaFault(("for_each", number, name), f"${name} stands inside a text, so its value must be text or a number.")
        for number, row in enumerate(rows)
        for name in row
        if name in inserted and (isinstance(row[name], bool) or not isinstance(row[name], str | int))
    ]


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _filled_mapping(fields: dict[str, Value], row: dict[str, Value]) -> dict[str, Value]:
    return {key: value if key in _FIXED else _filled(value, row) for key, value in fields.items()}


def _filled(value: Value, row: dict[str, Value]) -> Value:
    if isinstance(value, str):
        whole = _NAME.fullmatch(value)
        if whole:
            return row[whole.group(1)]
        return _NAME.sub(lambda match: str(row[match.group(1)]), value)
    if isinstance(value, list):
        return [_filled(each, row) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, row) for key, each in value.items()}
    return value
