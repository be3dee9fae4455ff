"""What a Device keeps durable, and the rule for it: Session State changes inside one transaction only.

A crash at any point is then: drop the object, keep the store (CRS-001 to CRS-006).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from reference_impl.durability import WriteCounter

Kind = Literal["sync", "pair", "manifest", "leave", "revoke"]


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One message for one recipient. `sequence` and `recipient` name it, `sent_at` is in Unix ms."""

    sequence: int
    recipient: str
    message_id: str
    kind: Kind
    body: bytes
    sent_at: int


class Store(ABC):
    """Records, outbox and dedup table of one Device, in one place so that one commit covers them."""

    def __init__(self, counter: WriteCounter | None = None) -> None:
        self.counter = counter if counter is not None else WriteCounter()
        self._open_transaction = False
        self._written = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything written inside, or nothing. One that wrote nothing is no durable write."""
        if self._open_transaction:
            raise RuntimeError("a transaction of this store is open already: write inside that one")
        self._open_transaction, self._written = True, False
        try:
            self._begin()
            yield
            if self._written:
                self.counter.before_commit()
            self._commit()
        except BaseException:
            self._rollback()
            raise
        finally:
            self._open_transaction = False
        if self._written:
            self.counter.after_commit()

    def _writes(self) -> None:
        if not self._open_transaction:
            raise RuntimeError("durable state was written outside a transaction")
        self._written = True

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _rollback(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Let go of the store. What was committed stays."""

    @abstractmethod
    def read(self, key: str) -> str | None: ...

    @abstractmethod
    def write(self, key: str, value: str) -> None: ...

    @abstractmethod
    def outbox(self) -> list[OutboxEntry]:
        """All entries in Sequence order, those of one message by recipient."""

    @abstractmethod
    def add_entry(self, entry: OutboxEntry) -> None:
        """Add an entry, or replace the one of the same Sequence and recipient."""

    @abstractmethod
    def remove_entry(self, sequence: int, recipient: str) -> None: ...

    @abstractmethod
    def handled_until(self, message_id: str) -> int | None:
        """Until when (Unix ms) a handled Message ID must be kept, None if it was not recorded."""

    @abstractmethod
    def record_handled(self, message_id: str, until: int) -> None: ...

    @abstractmethod
    def forget_handled_before(self, moment: int) -> None:
        """Drop the records whose time ended before `moment`; those that end at it stay (DDP-006)."""

    @abstractmethod
    def wipe(self) -> None:
        """Delete everything."""
