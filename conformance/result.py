"""The result of one case, as it travels from a worker to the controller and into `results.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.catalogue import Catalogue
from conformance.durations import by_words
from conformance.engine.record import Record
from conformance.engine.run import Finding
from conformance.outcome import Outcome
from conformance.printable import printable
from conformance.vector import Case
from reference_impl.wire.json_types import Json, JsonObject

SHORTEST_ID = 16
"""A shorter id, which only a wrong system gives, could stand in any word."""


@dataclass(frozen=True, slots=True)
class Result:
    """One case and what became of it. Everything that came from outside is already printable."""

    case: Case
    finding: Finding
    clause: str
    clause_text: str
    waiver: str = ""

    @property
    def outcome(self) -> Outcome:
        return Outcome.WAIVED if self.waiver else self.finding.outcome

    @classmethod
    def of(cls, case: Case, finding: Finding, catalogue: Catalogue, waiver: str = "") -> Result:
        clause = finding.clause or case.clauses[0]
        known = catalogue.clauses.get(clause)
        return cls(case, finding, clause, known.text if known else "", waiver)

    def to_json(self) -> JsonObject:
        """The form of `vectors/schema/results.json`. No times: the same run gives the same bytes."""
        case, finding = self.case, self.finding
        entry: JsonObject = {
            "id": case.id,
            "vector": case.vector,
            "title": case.title,
            "spec": case.spec,
            "role": case.role,
            "clauses": list(case.clauses),
            "file": printable(case.location),
            "outcome": str(self.outcome),
        }
        if self.waiver:
            entry["waiver"] = self.waiver
        if finding.outcome is Outcome.PASS:
            return entry
        entry["reason"] = self._words(finding.reason)
        if finding.outcome in (Outcome.FAIL, Outcome.WARN, Outcome.ERROR):
            entry["failure"] = self._failure()
        return entry

    def _failure(self) -> JsonObject:
        finding = self.finding
        step = next((each for each in self.case.steps if each.number == finding.step), None)
        return {
            "clause": self.clause,
            "clause_text": self.clause_text,
            "step": finding.step,
            "step_text": printable(step.text) if step else "the setup",
            "line": step.line if step else self.case.line,
            "expected": self._words(finding.expected),
            "observed": self._words(finding.observed),
            "note": " ".join(text for text in (self.case.interpretation, self.case.note) if text),
            "kill_point": finding.kill_point,
            "exchange": [self._shown(record) for record in finding.history],
            "stderr": printable(finding.stderr[-3000:]),
        }

    def _shown(self, record: Record) -> Json:
        return {
            "at": by_words(record.at),
            "step": record.step,
            "from": record.source,
            "to": record.target,
            "text": self._words(record.describe()),
        }

    def _words(self, text: str) -> str:
        """The text with the vector's labels in place of ids, safe to print."""
        for name, label in self.finding.names.items():
            if len(name) >= SHORTEST_ID:
                text = text.replace(name, label)
        return printable(text)


def counts(results: Sequence[JsonObject]) -> dict[str, int]:
    """How many results have each outcome."""
    found = {str(outcome): 0 for outcome in Outcome}
    for result in results:
        found[str(result["outcome"])] += 1
    return found
