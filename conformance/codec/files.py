"""Codec files, `vectors/codec/*.json`: read strictly, checked against their schema, and turned into cases."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from conformance.catalogue import catalogue
from conformance.codec.difference import brief
from conformance.data_files import vectors_root
from conformance.schema_faults import file_schema, nearest
from conformance.strict_yaml import NodePath, Value
from conformance.vector import ANY_ROLE, Case, Fault, Step, VectorsError, location_of

CAPABILITY = "codec"
VERB = "call"
_EXPECTATIONS = ("result", "refused", "any_of", "read_back")
_NAMED = re.compile(r'"(?:id|case)": "([^"]*)"')


@dataclass(slots=True)
class CodecScan:
    """What was found in codec files: their number, the cases, and everything that is wrong."""

    files: int = 0
    cases: list[Case] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def load_codec_cases(*paths: Path) -> list[Case]:
    """Every case of these files and folders, by default the kit's own, in the order of rows. Raises VectorsError."""
    scan = scan_codec(*paths)
    if scan.faults:
        raise VectorsError(scan.faults)
    return scan.cases


def scan_codec(*paths: Path) -> CodecScan:
    """The same with what is wrong as a list; an id is unique over all paths."""
    scan = CodecScan()
    for path in paths or (vectors_root() / "codec",):
        for file in codec_files(path):
            cases, faults = scan_codec_file(file)
            scan.files += 1
            scan.cases += cases
            scan.faults += faults
    seen: set[str] = set()
    for case in scan.cases:
        if case.id in seen:
            scan.faults.append(Fault(case.location, case.line, f"the case {case.id} stands twice; ids are unique."))
        seen.add(case.id)
    return scan


def codec_files(path: Path) -> list[Path]:
    """The codec files at this path: a file ending in .json, or those in this folder or in folders `codec` below it."""
    if not path.is_dir():
        return [path] if path.suffix == ".json" else []
    return sorted({*(path.glob("*.json") if path.name == "codec" else ()), *path.rglob("codec/*.json")})


def scan_codec_file(path: Path) -> tuple[list[Case], list[Fault]]:
    """The cases of a file, or everything that is wrong with it."""
    location = location_of(path)
    try:
        text = path.read_text(encoding="utf-8")
        document: Value = json.loads(
            text, object_pairs_hook=_distinct, parse_float=_no_number, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        return [], [Fault(location, getattr(error, "lineno", 1), f"this is not the JSON of a codec file: {error}.")]
    lines = _Lines(text)
    faults = [
        Fault(location, lines.of_node(document, fault.node), f"{'.'.join(map(str, fault.place))}: {fault.reason}")
        for fault in file_schema("codec.json").faults(document)
    ]
    if faults or not isinstance(document, dict):
        return [], faults
    vectors = [_mapping(each) for each in _list(document["vectors"])]
    cases = [case for vector in vectors for case in _cases(vector, location, lines)]
    return cases, [fault for vector in vectors for fault in _clause_faults(vector, location, lines)]


def _cases(vector: dict[str, Value], location: str, lines: _Lines) -> Iterator[Case]:
    for row in (_mapping(each) for each in _list(vector["cases"])):
        line = lines.of_row(str(vector["id"]), str(row["case"]))
        yield Case(
            id=f"{vector['id']}[{row['case']}]",
            vector=str(vector["id"]),
            title=f"{vector['title']}: {row['case']}",
            spec="delivery",
            role=ANY_ROLE,
            clauses=tuple(str(clause) for clause in _list(vector["clauses"])),
            requires=(CAPABILITY,),
            setup={},
            allow=(),
            hostile=False,
            steps=(_step(vector, row, line),),
            location=location,
            line=line,
            interpretation=str(vector.get("interpretation", "")),
            note=str(row.get("note", vector.get("note", ""))),
        )


def _step(vector: dict[str, Value], row: dict[str, Value], line: int) -> Step:
    """The one call of a case. `expect` is a list of alternatives, each with a `result`, `refused` or `read_back`."""
    expected = {name: row[name] for name in _EXPECTATIONS if name in row}
    argument: dict[str, Value] = {
        "method": vector["method"],
        "params": row["params"],
        "expect": expected.get("any_of", [expected]),
        "every_prefix_of": row.get("every_prefix_of", ""),
    }
    cut = f", {row['every_prefix_of']} cut after each byte" if "every_prefix_of" in row else ""
    return Step(1, VERB, argument, line, f"{vector['method']} {brief(row['params'])}{cut}")


def _clause_faults(vector: dict[str, Value], location: str, lines: _Lines) -> Iterator[Fault]:
    known = catalogue("delivery").clauses
    for clause in map(str, _list(vector["clauses"])):
        if clause not in known:
            reason = f"clauses: {clause} does not exist{nearest(clause, known)}."
            yield Fault(location, lines.of_vector(str(vector["id"])), reason)


class _Lines:
    """The line of each vector and each row, found by their names, which stand in the order of the document."""

    def __init__(self, text: str) -> None:
        self._vectors: dict[str, int] = {}
        self._rows: dict[tuple[str, str], int] = {}
        vector = ""
        for number, line in enumerate(text.splitlines(), start=1):
            for match in _NAMED.finditer(line):
                if match[0].startswith('"id"'):
                    vector = match[1]
                    self._vectors.setdefault(vector, number)
                else:
                    self._rows.setdefault((vector, match[1]), number)

    def of_vector(self, vector: str) -> int:
        return self._vectors.get(vector, 1)

    def of_row(self, vector: str, row: str) -> int:
        return self._rows.get((vector, row), self.of_vector(vector))

    def of_node(self, document: Value, node: NodePath) -> int:
        """The line of the row or vector that holds the node."""
        names: list[str] = []
        value: Value = document
        for part in node:
            value = _inner(value, part)
            if isinstance(value, Mapping):
                names += [str(value[name]) for name in ("id", "case") if name in value]
        return self.of_row(names[0], names[-1]) if names else 1


def _inner(value: Value, part: str | int) -> Value:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _distinct(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the key {twice[0]} stands twice in one object")
    return dict(pairs)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is a different number to each reader; write a whole number, or text")


def _mapping(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise TypeError("the schema lets only an object stand here")
    return value


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise TypeError("the schema lets only a list stand here")
    return value
