"""Why a case failed, in words: the clause, the step, expected against observed, and the exchange as a sequence."""

from __future__ import annotations

import itertools
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from reference_impl.wire.json_types import Json

WIDTH = 110
LABEL = 10


def explain(result: Mapping[str, Json], again: str) -> str:
    """The explanation of a failed, warned or erroneous result of `results.json`. `again` reruns just this case."""
    failure = result["failure"]
    if not isinstance(failure, Mapping):
        return str(result.get("reason", ""))
    lines = [f"{result['id']}: {result['title']}", ""]
    lines += _field(_verdict(str(result["outcome"])), str(result["reason"]))
    if result["outcome"] != "error":
        lines += _field("Clause", f"{failure['clause']}: {failure['clause_text']}")
    lines += _field("Where", f"{result['file']}:{failure['line']}, {_step(failure)}")
    lines += _field("Expected", str(failure["expected"]))
    lines += _field("Observed", str(failure["observed"]))
    lines += _field("Note", str(failure["note"]))
    exchange = failure["exchange"]
    if isinstance(exchange, Sequence) and exchange:
        lines += ["", *_exchange(exchange, failure["step"])]
    if failure["stderr"]:
        lines += ["", "What the driver wrote to stderr:", *textwrap.indent(str(failure["stderr"]), "  ").splitlines()]
    # Never wrapped: it is there to be copied.
    lines += ["", f"{'Again':<{LABEL}}{again}"]
    return "\n".join(lines)


def rerun_command(adapter: str, case_id: str, vectors: str = "", *, by_name: bool = False) -> str:
    """The one command that runs just this case. `by_name`: the kit is installed, and found as a package."""
    words = ["pytest", *(["--pyargs"] if by_name else []), "conformance"]
    if adapter:
        words.append(f"--adapter={adapter}")
    if vectors:
        words.append(f"--vectors={vectors}")
    words.append(f"--vector={case_id}")
    return shlex.join(words)


def _verdict(outcome: str) -> str:
    return {"fail": "Broken", "warn": "Advice", "error": "Error", "waived": "Waived"}.get(outcome, outcome)


def _step(failure: Mapping[str, Json]) -> str:
    killed = failure["kill_point"]
    where = f"step {failure['step']}: {failure['step_text']}" if failure["step"] else "in the setup"
    return f"{where}, killed {killed}" if killed else where


def _field(label: str, text: str) -> list[str]:
    if not text:
        return []
    lines = textwrap.wrap(text, WIDTH - LABEL, break_long_words=False) or [""]
    return [f"{label:<{LABEL}}{lines[0]}", *(" " * LABEL + line for line in lines[1:])]


def _exchange(exchange: Sequence[Json], broken: Json) -> Iterator[str]:
    yield "The exchange (time since the start, step, who to whom):"
    entries = [entry for entry in exchange if isinstance(entry, Mapping)]
    times = max(len(str(entry["at"])) for entry in entries)
    for entry, equal in itertools.groupby(entries):
        mark = ">" if entry["step"] == broken else " "
        way = str(entry["from"]) if entry["from"] == entry["to"] else f"{entry['from']} → {entry['to']}"
        count = len(list(equal))
        again = f", {count} times" if count > 1 else ""
        yield f"{mark} {entry['at']!s:>{times}}  {entry['step']!s:>3}  {way:<16}  {entry['text']}{again}"
