"""What can come of a Blob."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.device.effects import Issue, Message


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


@dataclass(frozen=True, slots=True)
class Handle:
    """A message for the handler."""

    message: Message


@dataclass(frozen=True, slots=True)
class PassOver:
    """Neither handle nor ack: this device is on its way out of the group."""


Verdict = Drop | Hold | Apply | Handle | PassOver
