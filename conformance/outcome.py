"""What can become of a case, and the exceptions by which the engine says so.

A *fail* is the system's, an *error* is the driver's or the kit's, and the two are never mixed up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reference_impl.wire.json_types import JsonObject


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105 - the verdict, not a word to keep secret
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    NOT_RUN = "not_run"
    NOT_APPLICABLE = "not_applicable"
    WAIVED = "waived"


@dataclass(frozen=True, slots=True)
class Step:
    """Where in a vector something happened. `number` counts from 1; 0 is the setup before the first step."""

    number: int
    text: str
    line: int


class SpecBrokenError(Exception):
    """The system under test breaks the spec: the case fails.

    `clause` is the sentence broken, or empty where it is the first clause of the vector.
    """

    def __init__(self, reason: str, *, expected: str = "", observed: str = "", clause: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.expected = expected
        self.observed = observed
        self.clause = clause


class DriverError(Exception):
    """The driver broke the protocol, died, hung or flooded: the case is an error, blamed on this case alone."""


class UnknownMethodError(DriverError):
    """The driver does not know a method that its capabilities promise, or one that it may leave out."""


class DriverDiedError(DriverError):
    """The process ended, or its pipe closed, when nobody had asked for that."""


class VectorError(Exception):
    """The vector itself asks for something impossible: an error of the kit or of the vector's author."""


class NotRunError(Exception):
    """A vector does what this system cannot be asked, found out on the way: the case is not run. The text says why."""


class ApiError(Exception):
    """A call failed with one of the spec's own errors, such as `closed`. `data` has `case` and its details."""

    def __init__(self, data: JsonObject) -> None:
        super().__init__(str(data.get("case")))
        self.data = data
