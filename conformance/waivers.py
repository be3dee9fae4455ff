"""Waivers: failures that an implementation knows of and accepts for a while, in the open and with an end."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.schema_faults import file_schema, nearest
from conformance.strict_yaml import Value, YamlError, load_documents


@dataclass(frozen=True, slots=True)
class Waiver:
    """One waiver. Exactly one of `vector` (a case id) and `clause` is set; `expires` is its last day."""

    vector: str
    clause: str
    reason: str
    issue: str
    expires: datetime.date
    where: str

    @property
    def subject(self) -> str:
        return self.vector or self.clause

    def covers(self, case_id: str, clause: str) -> bool:
        """Whether a failure of this case, blamed on this clause, is waived."""
        return self.vector == case_id if self.vector else self.clause == clause


def load(path: Path, today: datetime.date, cases: Iterable[str], clauses: Iterable[str]) -> list[Waiver]:
    """Read a file of waivers. Raises YamlError for one that is malformed, expired or names nothing."""
    documents = load_documents(path)
    if len(documents) != 1:
        raise YamlError(path, 1, "a file of waivers is one YAML document, a list.")
    document = documents[0]
    for fault in file_schema("waivers.json").faults(document.value):
        where = ".".join(str(part) for part in fault.node)
        raise YamlError(path, document.line_of(fault.node), f"{where}: {fault.reason}" if where else fault.reason)
    entries = document.value if isinstance(document.value, list) else []
    return [
        _waiver(path, document.line_of((number,)), entry, today, (set(cases), set(clauses)))
        for number, entry in enumerate(entries)
        if isinstance(entry, dict)
    ]


def unused(waivers: Sequence[Waiver], used: Iterable[str]) -> list[str]:
    """A sentence for each waiver that no failure needed: it would hide the next one."""
    needed = set(used)
    return [
        f"{waiver.where}: the waiver of {waiver.subject} was not needed in this run; remove it."
        for waiver in waivers
        if waiver.subject not in needed
    ]


def _waiver(
    path: Path,
    line: int,
    entry: Mapping[str, Value],
    today: datetime.date,
    known: tuple[set[str], set[str]],
) -> Waiver:
    try:
        expires = datetime.date.fromisoformat(str(entry["expires"]))
    except ValueError:
        raise YamlError(path, line, f"expires: {entry['expires']} is no day of the calendar.") from None
    waiver = Waiver(
        vector=str(entry.get("vector", "")),
        clause=str(entry.get("clause", "")),
        reason=str(entry["reason"]),
        issue=str(entry.get("issue", "")),
        expires=expires,
        where=f"{path}:{line}",
    )
    names = known[0] if waiver.vector else known[1]
    if waiver.subject not in names:
        kind = "vector" if waiver.vector else "clause"
        raise YamlError(path, line, f"there is no {kind} {waiver.subject}{nearest(waiver.subject, names)}.")
    if expires < today:
        reason = f"the waiver of {waiver.subject} expired on {expires}; mend the failure or renew it."
        raise YamlError(path, line, reason)
    return waiver
