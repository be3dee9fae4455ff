"""A store in memory: survives the Device object, not the process. Fast, with the same semantics as SQLite."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from reference_impl.device.store import OutboxEntry, Store
from reference_impl.durability import WriteCounter

K = TypeVar("K")
V = TypeVar("V")


class MemoryStore(Store):
    """Each write notes how to undo it, so a transaction costs what it changes and not what there is."""

    def __init__(self, counter: WriteCounter | None = None) -> None:
        super().__init__(counter)
        self._records: dict[str, str] = {}
        self._entries: dict[tuple[int, str], OutboxEntry] = {}
        self._handled: dict[str, int] = {}
        self._ends: list[tuple[int, str]] = []
        self._undo: list[Callable[[], object]] = []

    def _begin(self) -> None:
        self._undo.clear()

    def _commit(self) -> None:
        self._undo.clear()

    def _rollback(self) -> None:
        while self._undo:
            self._undo.pop()()

    def close(self) -> None:
        """Nothing to let go of: the object is the store."""

    def read(self, key: str) -> str | None:
        return self._records.get(key)

    def write(self, key: str, value: str) -> None:
        self._writes()
        self._put(self._records, key, value)

    def outbox(self) -> list[OutboxEntry]:
        return [self._entries[key] for key in sorted(self._entries)]

    def add_entry(self, entry: OutboxEntry) -> None:
        self._writes()
        self._put(self._entries, (entry.sequence, entry.recipient), entry)

    def remove_entry(self, sequence: int, recipient: str) -> None:
        self._writes()
        self._remove(self._entries, (sequence, recipient))

    def handled_until(self, message_id: str) -> int | None:
        return self._handled.get(message_id)

    def record_handled(self, message_id: str, until: int) -> None:
        self._writes()
        self._put(self._handled, message_id, until)
        heapq.heappush(self._ends, (until, message_id))

    def forget_handled_before(self, moment: int) -> None:
        while self._ends and self._ends[0][0] < moment:
            self._writes()
            end = heapq.heappop(self._ends)
            self._undo.append(partial(heapq.heappush, self._ends, end))
            if self._handled.get(end[1]) == end[0]:
                self._remove(self._handled, end[1])

    def wipe(self) -> None:
        self._writes()
        kept = (self._records, self._entries, self._handled, self._ends)
        self._records, self._entries, self._handled, self._ends = {}, {}, {}, []

        def restore() -> None:
            self._records, self._entries, self._handled, self._ends = kept

        self._undo.append(restore)

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            before = table[key]
            self._undo.append(lambda: table.__setitem__(key, before))
        else:
            self._undo.append(lambda: table.__delitem__(key))
        table[key] = value

    def _remove(self, table: dict[K, V], key: K) -> None:
        if key in table:
            before = table.pop(key)
            self._undo.append(lambda: table.__setitem__(key, before))
