"""What was pushed to the relay under test, what became of it, and which push a delivered envelope came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import takewhile

from conformance.delivery.relay_records import byte_words
from conformance.outcome import VectorError


class State(StrEnum):
    """Where a push stands. One that a crash cut off may have been stored or not."""

    WAITING = "waiting"
    ACKED = "acked"
    REFUSED = "refused"
    CUT = "cut"


@dataclass(slots=True)
class Push:
    """One push. `blob_ids` are the ids its blob was given, by Receive Session, in the order of delivery."""

    number: int
    label: str
    session: str
    recipient: str
    envelope: bytes
    state: State = State.WAITING
    blob_ids: dict[str, str] = field(default_factory=dict)
    deleted: bool = False


class Pushes:
    """Every push of a run, by its label."""

    def __init__(self) -> None:
        self._by_label: dict[str, Push] = {}
        self._by_envelope: defaultdict[bytes, list[Push]] = defaultdict(list)
        self._waiting: list[Push] = []

    def add(self, label: str, session: str, recipient: str, envelope: bytes) -> Push:
        if label in self._by_label:
            raise VectorError(f"two pushes are called {label}")
        push = self._by_label[label] = Push(len(self._by_label) + 1, label, session, recipient, envelope)
        self._waiting.append(push)
        if recipient:
            self._by_envelope[envelope].append(push)
        return push

    def __getitem__(self, label: str) -> Push:
        push = self._by_label.get(label)
        if push is None:
            raise VectorError(f"nothing that was pushed is called {label}")
        return push

    def labels(self, wanted: Sequence[str]) -> list[str]:
        """The pushes of these labels; `PREFIX-*` stands for all of them in the order pushed."""
        found: list[str] = []
        for label in wanted:
            several = [each for each in self._by_label if fnmatchcase(each, label)] if "*" in label else [label]
            if not several:
                raise VectorError(f"nothing that was pushed is called {label}")
            found += [self[each].label for each in several]
        return found

    def waiting(self) -> list[Push]:
        self._waiting = [push for push in self._waiting if push.state is State.WAITING]
        return list(self._waiting)

    def cut_off(self) -> None:
        """The relay is gone: what it has not answered it never will."""
        for push in self.waiting():
            push.state = State.CUT

    def source_of(self, envelope: bytes, device: str, session: str, blob_id: str) -> Push | None:
        """The push that a delivered envelope came from, by its bytes.

        Where several have the same bytes it is the one with that blob id, or else the one that makes the delivery
        right, if there is one.
        """

        def doubts(push: Push) -> tuple[bool, ...]:
            return (
                push.recipient != device,
                blob_id not in push.blob_ids.values(),
                push.state is State.REFUSED,
                push.deleted,
                session in push.blob_ids,
            )

        return min(self._by_envelope.get(envelope, ()), key=doubts, default=None)

    def how_it_differs(self, envelope: bytes, device: str) -> str:
        """In words: which push for that device an envelope is closest to, and where it differs."""
        meant = [push for push in self._by_label.values() if push.recipient == device]
        if not meant:
            return f"nothing was ever pushed to {device or 'it'}"
        closest = max(meant, key=lambda push: (_alike(push.envelope, envelope), -len(push.envelope)))
        alike = _alike(closest.envelope, envelope)
        if alike == len(envelope):
            return f"it ends after {alike} of the {len(closest.envelope)} bytes of {closest.label}"
        if alike == len(closest.envelope):
            return f"it goes on for {byte_words(len(envelope) - alike)} after the {alike} bytes of {closest.label}"
        return f"it differs from {closest.label} from byte {alike + 1} on"


def _alike(one: bytes, other: bytes) -> int:
    """How many bytes at the beginning are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
