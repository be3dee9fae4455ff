"""Vectors: read from YAML, expanded row by row, checked against their schema, and turned into cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.data_files import vectors_root
from conformance.placeholders import Row, expand
from conformance.printable import flow, printable
from conformance.schema_faults import SchemaFault, file_schema
from conformance.strict_yaml import Document, NodePath, Value, scan_documents

_NOT_VECTORS = ("schema", "spec")
ANY_ROLE = "any"
"""The role of a codec case: bytes are the same for a device and a relay."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `number` counts from 1; `argument` is null for a bare verb; `text` is the step on one line."""

    number: int
    verb: str
    argument: Value
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A vector, or one row of a vector with `for_each`: what is run, judged and reported.

    `vector` is the vector's id and `id` the case's: the same, or `VECTOR[row]`. `location` is the file, as
    `vectors/…` for the kit's own. `role` is `any` for a codec case. `swept` marks the run of the crash sweep (CRS-006).
    """

    id: str
    vector: str
    title: str
    spec: str
    role: str
    clauses: tuple[str, ...]
    requires: tuple[str, ...]
    setup: Mapping[str, Value]
    allow: tuple[Value, ...]
    hostile: bool
    steps: tuple[Step, ...]
    location: str
    line: int
    not_swept: str = ""
    interpretation: str = ""
    note: str = ""
    incident: str = ""
    swept: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a file of vectors; as text one line, `file:line: reason`."""

    location: str
    line: int
    reason: str

    def __str__(self) -> str:
        return printable(f"{self.location}:{self.line}: {self.reason}").replace("\n", "\\n")


class VectorsError(ValueError):
    """Vectors that cannot be used. Its text is one line for each of `faults`."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(slots=True)
class Scan:
    """What was found under one path: cases, each with the document it stands in, and everything that is wrong."""

    files: int = 0
    cases: list[tuple[Case, Document]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def load_vectors(*paths: Path) -> list[Case]:
    """Every case under these files and folders, by default the kit's own, in the order of files and documents.

    Raises `VectorsError` with every fault, if there is one.
    """
    scan = scan_vectors(*paths)
    if scan.faults:
        raise VectorsError(scan.faults)
    return [case for case, _ in scan.cases]


def scan_vectors(*paths: Path) -> Scan:
    """The cases that can be used and the faults of those that cannot; an id is unique over all paths."""
    scan = Scan()
    for root in paths or (vectors_root() / "delivery",):
        files = scan.files + len(scan.faults)
        for file in _files(root, scan):
            _scan_file(file, scan)
        if scan.files + len(scan.faults) == files:
            scan.faults.append(Fault(location_of(root), 1, "there is no vector here: no file ends in .yaml."))
    scan.faults += _repeated_ids(scan.cases)
    return scan


def has_steps(path: Path) -> bool:
    """Whether vectors with steps are there, and not codec files alone."""
    return any(path.rglob("*.y*ml")) if path.is_dir() else path.suffix != ".json"


def location_of(path: Path) -> str:
    """The path for people: `vectors/…` for the kit's own files, any other as it was given."""
    root = vectors_root()
    try:
        return f"vectors/{path.resolve().relative_to(root).as_posix()}"
    except ValueError:
        return str(path)


def _files(root: Path, scan: Scan) -> Iterator[Path]:
    if not root.is_dir():
        scan.files += 1
        yield root
        return
    inside = root.resolve()
    skipped = [root / name for name in _NOT_VECTORS if inside == vectors_root()]
    for path in sorted(root.rglob("*"), key=lambda each: each.relative_to(root).parts):
        if path.suffix not in (".yaml", ".yml") or any(path.is_relative_to(folder) for folder in skipped):
            continue
        if not path.resolve().is_relative_to(inside):
            scan.faults.append(Fault(location_of(path), 1, "this leads out of the folder; put the file itself here."))
        elif path.suffix == ".yml":
            scan.faults.append(Fault(location_of(path), 1, "a file of vectors ends in .yaml; rename it."))
        else:
            scan.files += 1
            yield path


def _scan_file(path: Path, scan: Scan) -> None:
    documents, errors = scan_documents(path)
    location = location_of(path)
    scan.faults += [Fault(location, error.line, error.reason) for error in errors]
    if errors:
        return
    for document in documents:
        cases, faults = _cases_of(document, location)
        scan.cases += [(case, document) for case in cases]
        scan.faults += faults


def _cases_of(document: Document, location: str) -> tuple[list[Case], list[Fault]]:
    if not isinstance(document.value, dict):
        return [], [Fault(location, document.line_of(()), "a vector is a mapping with id, title, steps and so on.")]
    rows, faults = expand(document.value)
    told = {fault.node for fault in faults}
    broken = {row.name: file_schema("vector.json").faults(row.vector) for row in rows}
    faults = faults + [fault for fault in _merged(broken) if fault.node not in told]
    if faults:
        lines = [Fault(location, document.line_of(fault.node), _with_place(fault)) for fault in faults]
        return [], list(dict.fromkeys(sorted(lines, key=lambda fault: fault.line)))
    return [_case(row, document, location) for row in rows], []


def _merged(broken: Mapping[str, list[SchemaFault]]) -> Iterator[SchemaFault]:
    """What is wrong in every row is told once, what is wrong in some with the name of the row."""
    counts = Counter(fault for faults in broken.values() for fault in faults)
    for row, faults in broken.items():
        for fault in faults:
            named = counts[fault] < len(broken)
            reason = f"in case {row}: {fault.reason}" if named else fault.reason
            yield SchemaFault(fault.node, reason, fault.is_field)


def _with_place(fault: SchemaFault) -> str:
    place = _place(fault.place)
    return f"{place}: {fault.reason}" if place else fault.reason


def _place(node: NodePath) -> str:
    """`step 4, deliver.from` for ("steps", 3, "deliver", "from")."""
    counted = {"steps": "step", "for_each": "row"}
    if len(node) > 1 and node[0] in counted and isinstance(node[1], int):
        rest = ".".join(str(part) for part in node[2:])
        return f"{counted[str(node[0])]} {node[1] + 1}" + (f", {rest}" if rest else "")
    return ".".join(str(part) for part in node)


def _case(row: Row, document: Document, location: str) -> Case:
    fields = row.vector
    vector = _text(fields, "id")
    setup = fields.get("setup", {})
    return Case(
        id=f"{vector}[{row.name}]" if row.name else vector,
        vector=vector,
        title=_text(fields, "title"),
        spec=_text(fields, "spec"),
        role=_text(fields, "role"),
        clauses=tuple(str(each) for each in _list(fields, "clauses")),
        requires=tuple(str(each) for each in _list(fields, "requires")),
        setup=setup if isinstance(setup, dict) else {},
        allow=tuple(_list(fields, "allow")),
        hostile=fields.get("hostile") is True,
        steps=tuple(_step(number, step, document) for number, step in enumerate(_list(fields, "steps"))),
        location=location,
        line=document.line_of(()),
        not_swept=_text(fields, "not_swept"),
        interpretation=_text(fields, "interpretation"),
        note=_text(fields, "note"),
        incident=_text(fields, "incident"),
    )


def _step(number: int, value: Value, document: Document) -> Step:
    verb, argument = next(iter(value.items())) if isinstance(value, dict) else (str(value), None)
    line = document.line_of(("steps", number))
    return Step(number + 1, verb, _expectation(argument) if verb == "expect" else argument, line, one_line(value))


def _expectation(argument: Value) -> Value:
    """A kind without an argument reads like one with an empty argument."""
    if isinstance(argument, str):
        return argument if argument == "nothing" else {argument: {}}
    if isinstance(argument, dict) and isinstance(argument.get("any_of"), list):
        alternatives = argument["any_of"] if isinstance(argument["any_of"], list) else []
        return {**argument, "any_of": [_alternative(each) for each in alternatives]}
    return argument


def _alternative(expectations: Value) -> Value:
    return [_expectation(each) for each in expectations] if isinstance(expectations, list) else expectations


def one_line(value: Value) -> str:
    """The value as YAML on one line, without the outer braces of a step."""
    text = flow(value)
    return text[1:-1] if isinstance(value, dict) else text


def _text(fields: Mapping[str, Value], name: str) -> str:
    value = fields.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _list(fields: Mapping[str, Value], name: str) -> list[Value]:
    value = fields.get(name, [])
    return value if isinstance(value, list) else []


def _repeated_ids(cases: Iterable[tuple[Case, Document]]) -> list[Fault]:
    first: dict[str, tuple[Case, Document]] = {}
    faults: list[Fault] = []
    for case, document in cases:
        known, source = first.setdefault(case.vector.casefold(), (case, document))
        if source is not document:
            where = f"{known.location}:{source.line_of(('id',))}"
            faults.append(
                Fault(case.location, document.line_of(("id",)), f"the id {case.vector} is taken; see {where}.")
            )
    return list(dict.fromkeys(faults))
