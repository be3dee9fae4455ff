"""What the tests of the plugin share: a pytest of its own over vectors, adapters and waivers that a test writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from tests.conformance import faulty_bench

PASSES = """\
id: {id}
title: {title}
spec: delivery
role: device
clauses: [RCV-001, RCV-007]
not_swept: a vector of the kit's own tests
steps:
  - register_handler
  - deliver: {{as: A, from: bob}}
  - expect: {{handler_called: A}}
"""
FAILS = """\
id: {id}
title: {title}
spec: delivery
role: device
clauses: [RCV-004, RCV-007]
not_swept: a vector of the kit's own tests
steps:
  - register_handler
  - deliver: {{as: A, from: bob}}
  - expect: {{deliver_ack: A}}
"""
NEEDS_PAIRING = """\
id: OWN-009
title: Needs what a driver may lack
spec: delivery
role: device
clauses: [RCV-001]
requires: [pairing]
not_swept: a vector of the kit's own tests
steps:
  - start_pairing
"""


QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""No cache in the checkout; and Hypothesis's plugin would import all of Hypothesis anew in every run."""


class Kit:
    """A folder with vectors and adapters, and pytest over the conformance package in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        (self.folder / "own").mkdir()
        self.write("own/a.yaml", PASSES.format(id="OWN-001", title="A handler is called"))
        self.adapter("good", "none")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def failing(self) -> None:
        """Add a vector that every right device fails."""
        self.write("own/b.yaml", FAILS.format(id="OWN-002", title="An ack comes too early"))

    def adapter(self, name: str, fault: str, more: str = "", role: str = "device") -> Path:
        """A manifest `NAME.yaml` for a driver with that fault."""
        command = json.dumps(faulty_bench.command(fault))
        timeouts = "{reply: 10s, start: 20s}"
        return self.write(
            f"{name}.yaml",
            f"name: {name}\nrole: {role}\ndriver: process\nenvelopes: plain\n"
            f"command: {command}\ntimeouts: {timeouts}\n{more}",
        )

    def arguments(self, *more: str) -> list[str]:
        chosen = [] if any(each.startswith("--adapter") for each in more) else ["--adapter=good.yaml"]
        vectors = [] if any(each.startswith("--vectors") for each in more) else ["--vectors=own"]
        return ["--pyargs", "conformance", *QUIET, *chosen, *vectors, *more]

    def run(self, *more: str) -> pytest.RunResult:
        """In this process; for a process of its own see `command`."""
        return self.pytester.runpytest_inprocess(*self.arguments(*more))

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *self.arguments(*more)]

    def results(self, name: str = "reports/results.json") -> Mapping[str, object]:
        return cast("Mapping[str, object]", json.loads((self.folder / name).read_text(encoding="utf-8")))

    def outcomes(self) -> dict[str, str]:
        cases = cast("list[Mapping[str, str]]", self.results()["cases"])
        return {case["id"]: case["outcome"] for case in cases}
