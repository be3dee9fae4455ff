"""Writes `results.json`, checked against its schema, whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from conformance.printable import printable
from conformance.result import counts
from conformance.run_plan import Plan
from conformance.schema import Schema, read
from conformance.system import Greeting
from reference_impl.wire.json_types import JsonObject

DISTRIBUTION = "trueseal-conformance"


def write(
    path: Path, plan: Plan, systems: Mapping[str, Greeting], results: Iterable[JsonObject], *, complete: bool
) -> None:
    """Write the results of a run. Raises OSError if the place cannot be written."""
    document = build(plan, systems, results, complete=complete)
    schema = Schema(read("results.json"))
    if not schema.holds(document):
        raise ValueError(f"the kit's own results do not fit their schema: {schema.explain(document)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".results-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, ensure_ascii=True)
            file.write("\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def build(plan: Plan, systems: Mapping[str, Greeting], results: Iterable[JsonObject], *, complete: bool) -> JsonObject:
    """The document of `vectors/schema/results.json`."""
    cases = [*results, *(_not_applicable(plan, number) for number in range(len(plan.others)))]
    return {
        "format": 1,
        "kit_version": version(DISTRIBUTION),
        "specs": sorted(plan.catalogues),
        "complete": complete,
        "adapter": {
            "name": printable(plan.adapter.name),
            "roles": list(plan.adapter.roles),
            "driver": plan.adapter.driver,
            "envelopes": plan.adapter.envelopes,
            "wire": "draft-1",
        },
        "systems": {
            role: {
                "name": printable(greeting.name),
                "version": printable(greeting.version),
                "capabilities": sorted(printable(name) for name in greeting.capabilities),
            }
            for role, greeting in systems.items()
        },
        "counts": counts(cases),
        "cases": cases,
    }


def _not_applicable(plan: Plan, number: int) -> JsonObject:
    case = plan.others[number]
    return {
        "id": case.id,
        "vector": case.vector,
        "title": case.title,
        "spec": case.spec,
        "role": case.role,
        "clauses": list(case.clauses),
        "file": printable(case.location),
        "outcome": "not_applicable",
        "reason": f"the adapter is no {case.role}",
    }
