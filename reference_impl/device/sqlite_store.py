"""The durable store: SQLite, write-ahead log, fsynced at every commit."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import cast

from reference_impl.device.store import Kind, OutboxEntry, Store
from reference_impl.durability import WriteCounter

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (
    sequence TEXT NOT NULL, recipient TEXT NOT NULL, message_id TEXT NOT NULL,
    kind TEXT NOT NULL, body BLOB NOT NULL, sent_at INTEGER NOT NULL,
    PRIMARY KEY (sequence, recipient)
);
CREATE TABLE IF NOT EXISTS handled (message_id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS handled_by_end ON handled (until);
"""
TABLES = ("record", "outbox", "handled")
U64_DIGITS = 20
INTEGER_MAX = 2**63 - 1


class SqliteStore(Store):
    """Opens `path`, and creates it the first time. One store at a time may be open on it."""

    def __init__(self, path: Path, counter: WriteCounter | None = None) -> None:
        super().__init__(counter)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(SCHEMA)

    def _begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self._db.execute("COMMIT")

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()

    def read(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM record WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def write(self, key: str, value: str) -> None:
        self._writes()
        self._db.execute("INSERT OR REPLACE INTO record VALUES (?, ?)", (key, value))

    def outbox(self) -> list[OutboxEntry]:
        rows = self._db.execute("SELECT * FROM outbox ORDER BY sequence, recipient").fetchall()
        return [
            OutboxEntry(int(sequence), recipient, message_id, cast("Kind", kind), bytes(body), sent_at)
            for sequence, recipient, message_id, kind, body, sent_at in rows
        ]

    def add_entry(self, entry: OutboxEntry) -> None:
        self._writes()
        self._db.execute(
            "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?, ?, ?)",
            (
                _sortable(entry.sequence),
                entry.recipient,
                entry.message_id,
                entry.kind,
                entry.body,
                entry.sent_at,
            ),
        )

    def remove_entry(self, sequence: int, recipient: str) -> None:
        self._writes()
        self._db.execute("DELETE FROM outbox WHERE sequence = ? AND recipient = ?", (_sortable(sequence), recipient))

    def handled_until(self, message_id: str) -> int | None:
        row = self._db.execute("SELECT until FROM handled WHERE message_id = ?", (message_id,)).fetchone()
        return None if row is None else int(row[0])

    def record_handled(self, message_id: str, until: int) -> None:
        self._writes()
        # A Sender Timestamp is a u64 of the sender's choice: what SQLite cannot hold is as good as for ever.
        self._db.execute("INSERT OR REPLACE INTO handled VALUES (?, ?)", (message_id, min(until, INTEGER_MAX)))

    def forget_handled_before(self, moment: int) -> None:
        if self._db.execute("SELECT 1 FROM handled WHERE until < ? LIMIT 1", (moment,)).fetchone():
            self._writes()
            self._db.execute("DELETE FROM handled WHERE until < ?", (moment,))

    def wipe(self) -> None:
        self._writes()
        for table in TABLES:
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - the names are the constants above


def _sortable(sequence: int) -> str:
    """A u64 does not fit SQLite's integers: fixed-width decimal text sorts like the number."""
    return str(sequence).zfill(U64_DIGITS)
