"""What can come of a Blob."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.device.effects import Issue


def nothing() -> None:
    """What there is to commit, or to do afterwards, where there is nothing."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Ack and drop. `issue` is None for a duplicate and for a control message that changes nothing."""

    issue: Issue | None


@dataclass(frozen=True, slots=True)
class Hold:
    """Leave unacked for the upgrade."""

    version: int


@dataclass(frozen=True, slots=True)
class Apply:
    """A control message that counts: `commit` before the ack, `after` behind it."""

    commit: Callable[[], None]
    after: Callable[[], None] = nothing


Verdict = Drop | Hold | Apply
"""A message for the handler has none: see `Recipient.judge`."""
