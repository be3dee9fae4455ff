"""`python -m conformance lint`: everything that can be wrong with vectors, told before one of them is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from conformance.catalogue import Clause, catalogue
from conformance.codec.files import codec_files, scan_codec
from conformance.durations import parse_duration
from conformance.schema_faults import nearest
from conformance.strict_yaml import Document, Value
from conformance.vector import Case, Fault, Scan, Step, has_steps, scan_vectors
from conformance.vector_labels import label_faults
from conformance.wire_files import wire_faults

Finding = tuple[int, str]

# What a step cannot do without. A capability that no step needs keeps a vector from systems that could run it.
_VERB_NEEDS: Mapping[str, str] = {
    "kill": "kill",
    "restart": "restart",
    "advance": "clock",
    "crash_at_write": "crash_at_write",
    "store": "store_fault",
    "start_pairing": "pairing",
    "cancel_pairing": "pairing",
    "accept": "pairing",
    "join": "pairing",
    "cancel_join": "pairing",
    "remove": "pairing",
    "leave": "pairing",
    "destroy_group": "pairing",
}
_FIELD_NEEDS: Mapping[str, str] = {
    "within": "clock",
    "not_before": "clock",
    "settings": "settings",
    "end_to_end_version": "upgrade",
    "transport_version": "upgrade",
    "max_sessions_per_device": "tcp",
    "max_connections": "tcp",
    "handshake_deadline": "tcp",
    "push_session_deadline": "tcp",
    "idle_close": "tcp",
    "shutdown_drain": "tcp",
}
MAX_ELAPSED = 10_000
"""In ms: what all advances of one vector come to where they take real time."""
_NEEDLESS = frozenset(("kill", "restart", "crash_at_write", "store_fault", "pairing", "settings", "upgrade"))
_WAITS = frozenset(("advance", "within"))
_DURATION_FIELDS = frozenset(("advance", "within", "not_before", "sent", "ttl"))


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("lint", help="check vectors without running them", description=__doc__)
    parser.add_argument("path", nargs="*", type=Path, help="a file or folder of vectors (default: the kit's own)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 if all is well, 1 if there are faults, 2 if a path does not exist."""
    paths: list[Path] = args.path
    absent = [path for path in paths if not path.exists()]
    for path in absent:
        sys.stderr.write(f"There is no file or folder {path}.\n")
    if absent:
        return 2
    codec = scan_codec(*paths)
    others = [path for path in paths if not codec_files(path) or has_steps(path)]
    scan = scan_vectors(*others) if others or not paths else Scan()
    faults = [*lint(scan), *codec.faults, *([] if paths else wire_faults())]
    for fault in faults:
        sys.stdout.write(f"{fault}\n")
    cases = [*(case for case, _ in scan.cases), *codec.cases]
    sys.stdout.write(_summary(cases, scan.files + codec.files, faults))
    return 1 if faults else 0


def lint(scan: Scan) -> list[Fault]:
    """Every fault of the scan and of the cases in it, in the order of files and lines."""
    found = list(scan.faults)
    for case, document in scan.cases:
        for rule in RULES:
            found += [Fault(case.location, line, reason) for line, reason in rule(case, document)]
    return sorted(dict.fromkeys(found), key=lambda fault: (fault.location, fault.line))


def _summary(cases: list[Case], files_read: int, faults: list[Fault]) -> str:
    if faults:
        files = len({fault.location for fault in faults})
        return f"{_count(len(faults), 'fault')} in {_count(files, 'file')}.\n"
    vectors = _count(len({case.vector for case in cases}), "vector")
    return f"{_count(len(cases), 'case')} of {vectors} in {_count(files_read, 'file')}, without a fault.\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# -- rules


def _clauses(case: Case, document: Document) -> Iterator[Finding]:
    known = catalogue(case.spec).clauses
    for number, clause_id in enumerate(case.clauses):
        clause = known.get(clause_id)
        reason = _wrong_clause(clause, case) if clause else f"does not exist{nearest(clause_id, known)}"
        if reason:
            yield document.line_of(("clauses", number)), f"clauses: {clause_id} {reason}."


def _wrong_clause(clause: Clause, case: Case) -> str:
    if clause.retired:
        return f"is retired: {clause.retired}"
    if not clause.binds(case.role):
        return f"binds the {clause.role}, and this vector is about a {case.role}"
    if clause.open:
        return f"cannot be shown by a vector, it takes {clause.open}: {clause.open_reason.rstrip('.')}"
    return ""


def _requires(case: Case, document: Document) -> Iterator[Finding]:
    needed: set[str] = set()
    for line, place, capability in _needs(case, document):
        if capability not in _offered(case) and capability not in needed:
            yield line, f"{place} needs the capability {capability}; add it to requires."
        needed.add(capability)
    for number, capability in enumerate(case.requires):
        if capability in _NEEDLESS and capability not in needed:
            yield document.line_of(("requires", number)), f"requires: nothing in this vector needs {capability}."


def _offered(case: Case) -> tuple[str, ...]:
    """Where time may pass by itself, no clock is needed to let it pass."""
    return (*case.requires, "clock") if "elapse" in case.requires else case.requires


def _elapsed(case: Case, document: Document) -> Iterator[Finding]:
    """Where a system in real time can run a vector, its advances take real time."""
    if "elapse" not in case.requires:
        return
    line = document.line_of(("requires", case.requires.index("elapse")))
    if "clock" in case.requires:
        yield line, "requires: a system with clock has elapse; name one of the two."
    waits = [inner for each in _arguments(case, document) for name, inner in _fields(each[2]) if name in _WAITS]
    if not waits:
        yield line, "requires: nothing in this vector needs elapse."
    if sum(_milliseconds(each) for each in waits) > MAX_ELAPSED:
        yield line, f"requires: with elapse a vector may wait for {MAX_ELAPSED // 1000} s; use smaller settings."


def _milliseconds(value: Value) -> int:
    """0 for what is no duration: that is another rule's affair."""
    try:
        return parse_duration(str(value))
    except ValueError:
        return 0


def _needs(case: Case, document: Document) -> Iterator[tuple[int, str, str]]:
    for capability in _needs_of(dict(case.setup)):
        yield document.line_of(("setup",)), "setup", capability
    for step in case.steps:
        if step.verb in _VERB_NEEDS:
            yield step.line, f"step {step.number}", _VERB_NEEDS[step.verb]
        for capability in _needs_of(step.argument):
            yield step.line, f"step {step.number}", capability


def _needs_of(value: Value) -> Iterator[str]:
    for name, inner in _fields(value):
        is_default = name.endswith("_version") and inner == 1
        if name in _FIELD_NEEDS and not is_default:
            yield _FIELD_NEEDS[name]


def _fields(value: Value) -> Iterator[tuple[str, Value]]:
    """Every field of the value, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner)


def _labels(case: Case, document: Document) -> Iterator[Finding]:
    for node, reason in label_faults(case):
        yield document.line_of(node), reason


def _stimulus_first(case: Case, _document: Document) -> Iterator[Finding]:
    for step in case.steps:
        if step.verb != "expect":
            return
        yield step.line, f"step {step.number}: nothing can be expected before the first stimulus; put one before it."


def _ranges(case: Case, document: Document) -> Iterator[Finding]:
    for line, place, value in _arguments(case, document):
        for name, inner in _fields(value):
            if isinstance(inner, dict) and _is_upside_down(inner.get("min"), inner.get("max")):
                yield line, f"{place}, {name}: min {inner['min']} is greater than max {inner['max']}."


def _is_upside_down(low: Value, high: Value) -> bool:
    if isinstance(low, str) and isinstance(high, str):
        try:
            return parse_duration(low) > parse_duration(high)
        except ValueError:
            return False
    return isinstance(low, int) and isinstance(high, int) and low > high


def _durations(case: Case, document: Document) -> Iterator[Finding]:
    for line, place, value in _arguments(case, document):
        for name, inner in _fields(value):
            if name in _DURATION_FIELDS and isinstance(inner, str):
                try:
                    parse_duration(inner)
                except ValueError as error:
                    yield line, f"{place}, {name}: {error}"


def _arguments(case: Case, document: Document) -> Iterator[tuple[int, str, Value]]:
    yield document.line_of(("setup",)), "setup", dict(case.setup)
    for step in case.steps:
        yield step.line, f"step {step.number}", {step.verb: step.argument}


def _starts_after_an_end(case: Case, _document: Document) -> Iterator[Finding]:
    """`start` continues a system that ended; nothing but `start` and the clock can reach one that is dead."""
    if case.role != "device":
        return
    running = True
    for step in case.steps:
        if step.verb == "start" and running:
            yield step.line, f"step {step.number}: start needs a kill or a crash point before it."
        running = step.verb not in ("kill", "crash_at_write") and (running or step.verb == "start")


def _member_steps(case: Case, _document: Document) -> Iterator[Finding]:
    """A message that must fail is never pushed, so nothing may wait for it."""
    failed = {_label(step) for step in case.steps if step.verb == "send" and _has(step, "fails")}
    for step in case.steps:
        if step.verb in ("ack_push", "lose_push", "refuse_push") and _label(step) in failed:
            yield step.line, f"step {step.number}: {_label(step)} is a send that must fail, so it has no push."


def _has(step: Step, name: str) -> bool:
    return isinstance(step.argument, dict) and name in step.argument


def _label(step: Step) -> str:
    if isinstance(step.argument, dict):
        return str(step.argument.get("as", step.argument.get("of", "")))
    return str(step.argument)


RULES: tuple[Callable[[Case, Document], Iterator[Finding]], ...] = (
    _clauses,
    _requires,
    _elapsed,
    _labels,
    _stimulus_first,
    _starts_after_an_end,
    _member_steps,
    _ranges,
    _durations,
)
