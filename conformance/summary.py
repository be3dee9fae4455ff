"""The table of a run: one line a clause area, one column an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.catalogue import Catalogue
from conformance.outcome import Outcome
from reference_impl.wire.json_types import Json, JsonObject

COLUMNS = (Outcome.PASS, Outcome.FAIL, Outcome.ERROR, Outcome.WARN, Outcome.WAIVED, Outcome.NOT_RUN)


def table(results: Sequence[JsonObject], catalogues: Sequence[Catalogue]) -> list[str]:
    """The lines of the table. A case counts in the area of its first clause."""
    names = {area: name for each in catalogues for area, name in each.areas.items()}
    run = [result for result in results if result["outcome"] != Outcome.NOT_APPLICABLE]
    rows = [(name, _counts(run, area)) for area, name in names.items() if any(_counts(run, area).values())]
    shown = [each for each in COLUMNS if each in (Outcome.PASS, Outcome.FAIL) or any(row[each] for _, row in rows)]
    width = max((len(name) for name, _ in rows), default=4)
    lines = ["  ".join([f"{'':<{width}}", *(f"{_words(each):>7}" for each in shown)])]
    lines += [_row(name, counts, shown, width) for name, counts in rows]
    total = {each: sum(counts[each] for _, counts in rows) for each in COLUMNS}
    return [*lines, _row("all", total, shown, width)]


def _row(name: str, counts: Mapping[Outcome, int], shown: Sequence[Outcome], width: int) -> str:
    return "  ".join([f"{name:<{width}}", *(f"{counts[each] or '-':>7}" for each in shown)])


def _counts(results: Sequence[JsonObject], area: str) -> dict[Outcome, int]:
    mine = [result for result in results if _area(result) == area]
    return {each: sum(result["outcome"] == each for result in mine) for each in COLUMNS}


def _area(result: JsonObject) -> str:
    clauses: Json = result["clauses"]
    return str(clauses[0]).partition("-")[0] if isinstance(clauses, list) else ""


def _words(outcome: Outcome) -> str:
    return outcome.replace("_", " ")
