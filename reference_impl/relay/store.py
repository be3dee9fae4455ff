"""What a Relay keeps: its Blobs in arrival order, changed only inside transactions (RLY-001, RLY-021).

Two stores with one interface: `MemoryStore` for speed, `SqliteStore` for a disk.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reference_impl.durability import WriteCounter


@dataclass(frozen=True, slots=True)
class Blob:
    """One stored Envelope for one recipient.

    `blob_id` is a u64 and what sessions call it; `arrival` is its place in the order of all Blobs;
    `arrived_at` is in milliseconds since the Unix epoch.
    """

    blob_id: int
    arrival: int
    recipient: bytes
    envelope: bytes
    arrived_at: int


@dataclass(frozen=True, slots=True)
class InboxSize:
    """How much waits in one Inbox: a number of Blobs, and the bytes of their envelopes."""

    blobs: int
    bytes: int


EMPTY = InboxSize(0, 0)


class StoreFailedError(Exception):
    """A durable write or a read failed; nothing of that transaction is stored (RLY-011)."""


class Store(ABC):
    """Blobs and the last arrival number, durable as of each commit.

    `failing` makes each commit fail, as a full disk does. Write only inside `transaction()`.
    """

    def __init__(self, counter: WriteCounter | None = None) -> None:
        self.counter = counter if counter is not None else WriteCounter()
        self.failing = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Raises StoreFailedError if the changes cannot be made durable.

        A Crash before the commit leaves the store without them, one after it with them.
        """
        self._begin()
        try:
            yield
            if self.failing:
                raise StoreFailedError("The store takes no writes, as it was told to.")
            self.counter.before_commit()
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        self.counter.after_commit()

    @abstractmethod
    def take_arrival(self) -> int:
        """Return the next arrival number, from 1; no number is given out twice, restarts included."""

    @abstractmethod
    def add(self, blob: Blob) -> None:
        """Store a Blob. Its `blob_id` and `arrival` must be free."""

    @abstractmethod
    def remove(self, blob: Blob) -> None:
        """Delete a Blob. Nothing happens if it is not there."""

    @abstractmethod
    def find(self, blob_id: int) -> Blob | None:
        """Return the Blob of that id, or None."""

    @abstractmethod
    def inbox(self, recipient: bytes) -> list[Blob]:
        """Return what waits for that recipient, in arrival order (RLY-003)."""

    @abstractmethod
    def inbox_size(self, recipient: bytes) -> InboxSize:
        """Return how much waits for that recipient, without reading it."""

    @abstractmethod
    def all_blobs(self) -> Iterable[Blob]:
        """Every Blob of every Inbox in arrival order, read as far as the caller asks."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the medium."""

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _roll_back(self) -> None: ...


class MemoryStore(Store):
    """Dicts in arrival order. Whoever keeps this object while the Relay is dropped has survived a kill."""

    def __init__(self, counter: WriteCounter | None = None) -> None:
        super().__init__(counter)
        self._last_arrival = 0
        self._blobs: dict[int, Blob] = {}
        self._inboxes: dict[bytes, dict[int, Blob]] = {}
        self._bytes: dict[bytes, int] = {}
        self._undo: list[Callable[[], None]] = []

    def take_arrival(self) -> int:
        self._last_arrival += 1
        self._undo.append(self._give_back_arrival)
        return self._last_arrival

    def add(self, blob: Blob) -> None:
        self._insert(blob)
        self._undo.append(lambda: self._delete(blob))

    def remove(self, blob: Blob) -> None:
        if blob.blob_id in self._blobs:
            self._delete(blob)
            self._undo.append(lambda: self._restore(blob))

    def find(self, blob_id: int) -> Blob | None:
        return self._blobs.get(blob_id)

    def inbox(self, recipient: bytes) -> list[Blob]:
        return list(self._inboxes.get(recipient, {}).values())

    def inbox_size(self, recipient: bytes) -> InboxSize:
        inbox = self._inboxes.get(recipient)
        return EMPTY if inbox is None else InboxSize(len(inbox), self._bytes[recipient])

    def all_blobs(self) -> Iterable[Blob]:
        return self._blobs.values()

    def close(self) -> None:
        """Nothing to let go of."""

    def _begin(self) -> None:
        self._undo.clear()

    def _commit(self) -> None:
        self._undo.clear()

    def _roll_back(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _give_back_arrival(self) -> None:
        self._last_arrival -= 1

    def _insert(self, blob: Blob) -> None:
        if blob.blob_id in self._blobs:
            raise StoreFailedError(f"The blob id {blob.blob_id} is taken, choose one that was never used.")
        self._blobs[blob.blob_id] = blob
        self._inboxes.setdefault(blob.recipient, {})[blob.blob_id] = blob
        self._bytes[blob.recipient] = self._bytes.get(blob.recipient, 0) + len(blob.envelope)

    def _delete(self, blob: Blob) -> None:
        del self._blobs[blob.blob_id]
        inbox = self._inboxes[blob.recipient]
        del inbox[blob.blob_id]
        self._bytes[blob.recipient] -= len(blob.envelope)
        if not inbox:
            del self._inboxes[blob.recipient], self._bytes[blob.recipient]

    def _restore(self, blob: Blob) -> None:
        self._insert(blob)
        self._blobs = _in_arrival_order(self._blobs)
        self._inboxes[blob.recipient] = _in_arrival_order(self._inboxes[blob.recipient])


def _in_arrival_order(blobs: dict[int, Blob]) -> dict[int, Blob]:
    return {blob.blob_id: blob for blob in sorted(blobs.values(), key=lambda blob: blob.arrival)}


SCHEMA = """
CREATE TABLE IF NOT EXISTS counter (last_arrival INTEGER NOT NULL);
INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter);
CREATE TABLE IF NOT EXISTS blob (
    arrival INTEGER PRIMARY KEY,
    blob_id BLOB NOT NULL UNIQUE,
    recipient BLOB NOT NULL,
    envelope BLOB NOT NULL,
    arrived_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS blob_by_inbox ON blob (recipient, arrival);
CREATE TABLE IF NOT EXISTS inbox (recipient BLOB PRIMARY KEY, blobs INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS count_added AFTER INSERT ON blob BEGIN
    INSERT INTO inbox VALUES (new.recipient, 1, length(new.envelope))
    ON CONFLICT (recipient) DO UPDATE SET blobs = blobs + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS count_removed AFTER DELETE ON blob BEGIN
    UPDATE inbox SET blobs = blobs - 1, bytes = bytes - length(old.envelope) WHERE recipient = old.recipient;
    DELETE FROM inbox WHERE recipient = old.recipient AND blobs = 0;
END;
"""

Row = tuple[bytes, int, bytes, bytes, int]
COLUMNS = "SELECT blob_id, arrival, recipient, envelope, arrived_at FROM blob"


class SqliteStore(Store):
    """One database file, WAL and synchronous=FULL: a commit is on the disk when it returns (RLY-002)."""

    def __init__(self, path: Path, counter: WriteCounter | None = None) -> None:
        super().__init__(counter)
        with _reporting_failure():
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.executescript(f"BEGIN IMMEDIATE;{SCHEMA}COMMIT;")

    def take_arrival(self) -> int:
        with _reporting_failure():
            rows = self._database.execute("UPDATE counter SET last_arrival = last_arrival + 1 RETURNING *")
            number: int = rows.fetchall()[0][0]
        return number

    def add(self, blob: Blob) -> None:
        row = (_id_bytes(blob.blob_id), blob.arrival, blob.recipient, blob.envelope, blob.arrived_at)
        with _reporting_failure():
            self._database.execute(
                "INSERT INTO blob (blob_id, arrival, recipient, envelope, arrived_at) VALUES (?, ?, ?, ?, ?)",
                row,
            )

    def remove(self, blob: Blob) -> None:
        with _reporting_failure():
            self._database.execute("DELETE FROM blob WHERE blob_id = ?", (_id_bytes(blob.blob_id),))

    def find(self, blob_id: int) -> Blob | None:
        with _reporting_failure():
            rows = self._database.execute(f"{COLUMNS} WHERE blob_id = ?", (_id_bytes(blob_id),))
            found = rows.fetchone()
        return None if found is None else _blob(found)

    def inbox(self, recipient: bytes) -> list[Blob]:
        with _reporting_failure():
            rows = self._database.execute(f"{COLUMNS} WHERE recipient = ? ORDER BY arrival", (recipient,))
            return [_blob(row) for row in rows]

    def inbox_size(self, recipient: bytes) -> InboxSize:
        with _reporting_failure():
            rows = self._database.execute("SELECT blobs, bytes FROM inbox WHERE recipient = ?", (recipient,))
            found = rows.fetchone()
        return EMPTY if found is None else InboxSize(*found)

    def all_blobs(self) -> Iterable[Blob]:
        with _reporting_failure():
            for row in self._database.execute(f"{COLUMNS} ORDER BY arrival"):
                yield _blob(row)

    def close(self) -> None:
        self._database.close()

    def _begin(self) -> None:
        with _reporting_failure():
            self._database.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        with _reporting_failure():
            self._database.execute("COMMIT")

    def _roll_back(self) -> None:
        # A full disk may have ended the transaction already.
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")


@contextmanager
def _reporting_failure() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreFailedError(f"The relay's database failed: {error}.") from error


def _id_bytes(blob_id: int) -> bytes:
    # A u64 does not fit SQLite's signed 64-bit integers.
    return blob_id.to_bytes(8, "big")


def _blob(row: Row) -> Blob:
    blob_id, arrival, recipient, envelope, arrived_at = row
    return Blob(int.from_bytes(blob_id, "big"), arrival, recipient, envelope, arrived_at)
