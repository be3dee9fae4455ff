"""The wire profiles as files: what can be wrong with `vectors/spec/wire-NAME.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.catalogue import catalogue
from conformance.data_files import vectors_root
from conformance.schema_faults import file_schema, nearest
from conformance.strict_yaml import Document, NodePath, Value, scan_documents
from conformance.vector import Fault, location_of


def wire_faults() -> list[Fault]:
    """Every fault of the kit's own profiles, in the order of files and lines."""
    paths = sorted((vectors_root() / "spec").glob("wire-*.yaml"))
    return [fault for path in paths for fault in wire_file_faults(path)]


def wire_file_faults(path: Path) -> list[Fault]:
    """Every fault of one profile."""
    documents, errors = scan_documents(path)
    if errors:
        return [Fault(location_of(path), error.line, error.reason) for error in errors]
    found = [
        _in_place(path, document, node, reason) for document in documents for node, reason in _faults(document, path)
    ]
    if len(documents) > 1:
        found.append(_in_place(path, documents[1], (), "a profile is one document; delete the others."))
    return sorted(found, key=lambda fault: fault.line)


def _faults(document: Document, path: Path) -> Iterator[tuple[NodePath, str]]:
    broken = file_schema("wire.json").faults(document.value)
    for fault in broken:
        where = ".".join(str(part) for part in fault.place)
        yield fault.node, f"{where}: {fault.reason}" if where else fault.reason
    if not broken and isinstance(document.value, dict):
        yield from _meaning(document.value, path)


def _meaning(profile: dict[str, Value], path: Path) -> Iterator[tuple[NodePath, str]]:
    if path.stem != f"wire-{profile['name']}":
        yield ("name",), f"name: the file {path.name} holds the profile {profile['name']}; name both alike."
    for number, clause in _column(profile, "inexpressible", "clause"):
        if clause not in catalogue().clauses:
            reason = f"inexpressible: {clause} does not exist{nearest(clause, catalogue().clauses)}."
            yield ("inexpressible", number, "clause"), reason
    for column in ("byte", "code"):
        yield from _repeated(profile, "error_reasons", column)


def _repeated(profile: dict[str, Value], table: str, column: str) -> Iterator[tuple[NodePath, str]]:
    seen: set[str] = set()
    for number, value in _column(profile, table, column):
        if value in seen:
            yield (table, number, column), f"{table}: the {column} {value} stands twice."
        seen.add(value)


def _column(profile: dict[str, Value], table: str, column: str) -> Iterator[tuple[int, str]]:
    rows = profile[table]
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        if isinstance(row, dict):
            yield number, str(row[column])


def _in_place(path: Path, document: Document, node: NodePath, reason: str) -> Fault:
    return Fault(location_of(path), document.line_of(node), reason)
