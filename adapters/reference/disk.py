"""Where the stores of a driver live: one per data folder, in memory or in the folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from reference_impl.durability import WriteCounter, raise_crash

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

DATABASE = "session_state.sqlite3"
SEED_BYTES = 32


class Disk(Protocol[S_co]):
    """Gives the store of a data folder. Whoever opened it closes it."""

    def open(self, folder: str) -> S_co: ...

    def seed(self, folder: str) -> bytes:
        """A seed for random bytes, another one at each start of each folder."""
        ...


class MemoryDisk(Generic[S]):
    """Survives kills in one process: drop the driver, keep the disk. `crash.at_write` raises Crash."""

    def __init__(self, make_store: Callable[[WriteCounter], S]) -> None:
        self._make_store = make_store
        self._stores: dict[str, S] = {}
        self._seeds = 0

    def open(self, folder: str) -> S:
        store = self._stores.get(folder)
        if store is None:
            store = self._stores[folder] = self._make_store(WriteCounter(raise_crash))
        return store

    def seed(self, folder: str) -> bytes:
        self._seeds += 1
        return hashlib.sha256(f"{self._seeds}:{folder}".encode()).digest()

    def forget(self, folder: str) -> None:
        """Drop what a folder holds, once no one will open it again."""
        self._stores.pop(folder, None)


class FolderDisk(Generic[S]):
    """Opens the real store in the folder. `crash.at_write` raises Crash, at which `serve` ends this process."""

    def __init__(self, open_store: Callable[[Path, WriteCounter], S]) -> None:
        self._open_store = open_store

    def open(self, folder: str) -> S:
        return self._open_store(Path(folder) / DATABASE, WriteCounter(raise_crash))

    def seed(self, folder: str) -> bytes:  # noqa: ARG002 - a memory disk tells its folders apart by it
        return os.urandom(SEED_BYTES)
