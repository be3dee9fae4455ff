"""One line for each event in the life of the relay program.

A line holds names of events, reasons and session numbers: never an address, a key, a size or a blob id, since who talks
to whom, when and how much is what a relay must not keep.
"""

from __future__ import annotations

import sys


def log(event: str, **fields: str | int) -> None:
    """Write the line to stderr. Values are words of the program's own, never something that a connection sent."""
    words = "".join(f" {name}={value}" for name, value in fields.items())
    sys.stderr.write(f"event={event}{words}\n")
    sys.stderr.flush()
