"""Both stores keep the same promises: order, rollback, numbers that never repeat, crashes around a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reference_impl.durability import Crash
from reference_impl.relay.store import Blob, InboxSize, MemoryStore, SqliteStore, Store, StoreFailedError

DANA, ERIN = b"d" * 32, b"e" * 32
BIGGEST_ID = 2**64 - 1


def blob(number: int, recipient: bytes = DANA, envelope: bytes = b"hi") -> Blob:
    return Blob(number, number, recipient, envelope, 1000 + number)


def add(store: Store, *blobs: Blob) -> None:
    with store.transaction():
        for each in blobs:
            store.add(each)


def change_and_break(store: Store) -> None:
    with store.transaction():
        store.take_arrival()
        store.remove(blob(1))
        store.add(blob(4))
        store.remove(blob(2))
        raise ZeroDivisionError


class OneMedium:
    """`reopen` gives the store as a restart of the program finds it."""

    def __init__(self, reopen: Callable[[Store | None], Store]) -> None:
        self._reopen = reopen
        self.store = reopen(None)

    def restart(self) -> Store:
        self.store.close()
        self.store = self._reopen(self.store)
        return self.store


@pytest.fixture(params=["memory", "sqlite"])
def medium(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OneMedium]:
    if request.param == "memory":
        made = OneMedium(lambda before: before if before is not None else MemoryStore())
    else:
        made = OneMedium(lambda _before: SqliteStore(tmp_path / "relay.db"))
    yield made
    made.store.close()


def test_blobs_come_back_in_arrival_order_and_whole(medium: OneMedium) -> None:
    first, other, second = blob(1), blob(2, ERIN, b"\x00\xff"), blob(3)
    add(medium.store, first, other, second)
    assert medium.store.inbox(DANA) == [first, second]
    assert medium.store.inbox(ERIN) == [other]
    assert list(medium.store.all_blobs()) == [first, other, second]
    assert medium.store.find(2) == other
    assert medium.store.find(4) is None


def test_order_is_that_of_arrival_whatever_the_ids_and_survives_a_restart(medium: OneMedium) -> None:
    first, second, third = (
        Blob(BIGGEST_ID, 1, DANA, b"a", 0),
        Blob(5, 2, DANA, b"b", 0),
        Blob(2**63, 3, DANA, b"c", 0),
    )
    add(medium.store, first)
    add(medium.store, second, third)
    assert medium.store.inbox(DANA) == [first, second, third]
    assert medium.restart().inbox(DANA) == [first, second, third]
    assert medium.store.find(BIGGEST_ID) == first


def test_sizes_follow_what_is_added_and_removed(medium: OneMedium) -> None:
    add(medium.store, blob(1, DANA, b"12345"), blob(2, DANA, b""), blob(3, ERIN, b"1"))
    assert medium.store.inbox_size(DANA) == InboxSize(2, 5)
    with medium.store.transaction():
        medium.store.remove(blob(1, DANA, b"12345"))
        medium.store.remove(blob(9))
    assert medium.store.inbox_size(DANA) == InboxSize(1, 0)
    assert medium.restart().inbox_size(ERIN) == InboxSize(1, 1)
    assert medium.store.inbox_size(b"x" * 32) == InboxSize(0, 0)


def test_arrival_numbers_never_repeat_even_when_everything_was_deleted(medium: OneMedium) -> None:
    with medium.store.transaction():
        numbers = [medium.store.take_arrival(), medium.store.take_arrival()]
        medium.store.add(blob(numbers[1]))
    with medium.store.transaction():
        medium.store.remove(blob(numbers[1]))
    with medium.restart().transaction():
        numbers.append(medium.store.take_arrival())
    assert numbers == [1, 2, 3]


def test_rollback_restores_blobs_order_sizes_and_numbers(medium: OneMedium) -> None:
    add(medium.store, blob(1), blob(2), blob(3))
    with pytest.raises(ZeroDivisionError):
        change_and_break(medium.store)
    assert medium.store.inbox(DANA) == [blob(1), blob(2), blob(3)]
    assert list(medium.store.all_blobs()) == [blob(1), blob(2), blob(3)]
    assert medium.store.inbox_size(DANA) == InboxSize(3, 6)
    with medium.store.transaction():
        assert medium.store.take_arrival() == 1


def test_a_failing_store_keeps_what_it_has_and_recovers(medium: OneMedium) -> None:
    add(medium.store, blob(1))
    medium.store.failing = True
    with pytest.raises(StoreFailedError, match="takes no writes"):
        add(medium.store, blob(2))
    assert medium.store.inbox(DANA) == [blob(1)]
    medium.store.failing = False
    add(medium.store, blob(3))
    assert medium.restart().inbox(DANA) == [blob(1), blob(3)]


def test_an_id_that_is_taken_fails_the_transaction(medium: OneMedium) -> None:
    add(medium.store, blob(1))
    with pytest.raises(StoreFailedError):
        add(medium.store, blob(2), Blob(1, 3, DANA, b"other", 0))
    assert medium.store.inbox(DANA) == [blob(1)]


@pytest.mark.parametrize(("when", "stored"), [("before", [1]), ("after", [1, 2])])
def test_a_crash_at_a_write_leaves_all_or_nothing_of_it(medium: OneMedium, when: str, stored: list[int]) -> None:
    medium.store.counter.arm(2, "before" if when == "before" else "after")
    add(medium.store, blob(1))
    with pytest.raises(Crash):
        add(medium.store, blob(2))
    assert [each.blob_id for each in medium.restart().inbox(DANA)] == stored


def test_sqlite_is_set_to_lose_nothing_at_a_power_cut(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "relay.db")
    settings = [store._database.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")]
    assert settings == [("wal",), (2,)]
    store.close()


def test_a_database_that_cannot_be_opened_is_a_store_failure(tmp_path: Path) -> None:
    with pytest.raises(StoreFailedError, match="The relay's database failed"):
        SqliteStore(tmp_path / "no" / "relay.db")


def test_a_full_disk_is_a_store_failure_and_loses_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "relay.db")
    add(store, blob(1))
    store._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreFailedError, match="full"):
        add(store, blob(2, DANA, bytes(1_000_000)))
    assert store.inbox(DANA) == [blob(1)]
    store._database.execute("PRAGMA max_page_count = 1000000")
    add(store, blob(3))
    assert store.inbox(DANA) == [blob(1), blob(3)]
    store.close()
