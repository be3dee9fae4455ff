"""`python -m conformance COMMAND`: the kit's tools beside the test run itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import cast

from conformance import bench, coverage, lint, new_adapter

# Each command lives in a module of its own, with `register(subparsers)` and `run(args) -> exit status`.
COMMANDS = (lint, new_adapter, coverage, bench)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description="Tools of the conformance kit.")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(subparsers)
    args = parser.parse_args(arguments)
    run = cast("Callable[[argparse.Namespace], int]", args.run)
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
