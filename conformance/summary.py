"""The table of a run: one line a clause area, one column an outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from conformance.catalogue import Catalogue
from conformance.outcome import Outcome
from conformance.run_plan import Plan
from reference_impl.wire.json_types import Json, JsonObject
from reference_impl.wire.profile import load_profile

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


def conditions(plan: Plan, not_run: int) -> Iterator[str]:
    """What was not judged, and why: other roles, what a driver, a wire profile or a relay that runs by itself lacks."""
    adapter = plan.adapter
    if plan.others:
        yield f"{len(plan.others)} cases are for other roles and do not apply."
    if not_run:
        yield f"{not_run} cases were not run: the driver lacks what they need (-rs says what)."
    for clause, because in plan.inexpressible.items():
        if any(_binds(each, clause, role) for each in plan.catalogues.values() for role in adapter.roles):
            yield f"{clause} is not judged: {because} (wire profile {adapter.wire})."
    if not load_profile(adapter.wire).reasons:
        yield f"The wire profile {adapter.wire} has no codes: refusals were judged as refusals, whatever their reason."
    if adapter.address is not None:
        yield "The relay runs by itself: the kit did not kill, restart or set it, nor move its clock."


def _binds(known: Catalogue, clause: str, role: str) -> bool:
    return clause in known.clauses and known.clauses[clause].binds(role)


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
