"""Both stores of the Device keep the same promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reference_impl.device.memory_store import MemoryStore
from reference_impl.device.sqlite_store import SqliteStore
from reference_impl.device.store import OutboxEntry, Store
from reference_impl.durability import Crash, When

Reopen = Callable[[Store], Store]


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str, tmp_path: Path) -> Iterator[Store]:
    opened: Store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "device.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def reopen(kind: str, tmp_path: Path) -> Iterator[Reopen]:
    """What is there after a kill: the same object in memory, the same file on disk."""
    opened: list[Store] = []

    def again(before: Store) -> Store:
        if kind == "memory":
            return before
        opened.append(SqliteStore(tmp_path / "device.sqlite3"))
        return opened[-1]

    yield again
    for one in opened:
        one.close()


def entry(sequence: int, recipient: str = "b", body: bytes = b"hi") -> OutboxEntry:
    return OutboxEntry(sequence, recipient, f"id-{sequence}", "sync", body, 7)


def fill(store: Store) -> None:
    with store.transaction():
        store.write("name", "before")
        store.add_entry(entry(1))
        store.record_handled("m1", 100)


def contents(store: Store) -> tuple[str | None, list[OutboxEntry], int | None]:
    return store.read("name"), store.outbox(), store.handled_until("m1")


def test_what_was_committed_is_there_after_a_kill(store: Store, reopen: Reopen) -> None:
    fill(store)
    assert contents(reopen(store)) == ("before", [entry(1)], 100)


def fail_after(store: Store, change: Callable[[Store], None]) -> None:
    with store.transaction():
        change(store)
        raise LookupError


def change_everything(store: Store) -> None:
    store.write("name", "after")
    store.write("other", "new")
    store.remove_entry(1, "b")
    store.add_entry(entry(2))
    store.record_handled("m1", 300)
    store.record_handled("m2", 300)
    store.forget_handled_before(200)
    store.wipe()
    store.write("name", "after the wipe")


def test_a_transaction_that_fails_changes_nothing(store: Store) -> None:
    fill(store)
    with pytest.raises(LookupError):
        fail_after(store, change_everything)
    assert contents(store) == ("before", [entry(1)], 100)
    assert store.read("other") is None
    assert store.handled_until("m2") is None


@pytest.mark.parametrize(("when", "name"), [("before", "before"), ("after", "after the wipe")])
def test_a_crash_at_a_write_keeps_what_was_committed_by_then(
    store: Store, reopen: Reopen, when: When, name: str
) -> None:
    fill(store)
    store.counter.arm(2, when)
    with store.transaction():
        store.write("between", "1")
    with pytest.raises(Crash), store.transaction():
        change_everything(store)
    survivor = reopen(store)
    assert survivor.read("name") == name
    assert survivor.outbox() == ([entry(1)] if when == "before" else [])


def test_a_transaction_without_a_write_is_no_durable_write(store: Store) -> None:
    store.counter.arm(1, "before")
    with store.transaction():
        assert store.read("name") is None
        store.forget_handled_before(10)
    assert store.counter.commits == 0


def test_commits_are_counted(store: Store) -> None:
    fill(store)
    fill(store)
    assert store.counter.commits == 2


WRITES: dict[str, Callable[[Store], None]] = {
    "write": lambda store: store.write("name", "x"),
    "add_entry": lambda store: store.add_entry(entry(1)),
    "remove_entry": lambda store: store.remove_entry(1, "b"),
    "record_handled": lambda store: store.record_handled("m", 1),
    "wipe": lambda store: store.wipe(),
}


@pytest.mark.parametrize("write", sorted(WRITES))
def test_nothing_is_written_outside_a_transaction(store: Store, write: str) -> None:
    with pytest.raises(RuntimeError, match="outside a transaction"):
        WRITES[write](store)


def test_transactions_do_not_nest(store: Store) -> None:
    with store.transaction(), pytest.raises(RuntimeError, match="open already"), store.transaction():
        pass


def test_the_outbox_is_in_sequence_order_over_the_whole_range(store: Store) -> None:
    sequences = [10, 9, 2**64 - 1, 1, 2**63]
    with store.transaction():
        for sequence in sequences:
            store.add_entry(entry(sequence))
    assert [one.sequence for one in store.outbox()] == sorted(sequences)


def test_an_entry_is_named_by_sequence_and_recipient(store: Store) -> None:
    with store.transaction():
        store.add_entry(entry(1, "b"))
        store.add_entry(entry(1, "c"))
        store.add_entry(entry(1, "b", body=b"anew"))
    assert store.outbox() == [entry(1, "b", body=b"anew"), entry(1, "c")]
    with store.transaction():
        store.remove_entry(1, "b")
        store.remove_entry(9, "b")
    assert store.outbox() == [entry(1, "c")]


def test_records_are_forgotten_by_their_end_and_not_at_it(store: Store) -> None:
    with store.transaction():
        store.record_handled("m1", 100)
        store.record_handled("m2", 101)
        store.record_handled("m3", 99)
        store.record_handled("m3", 200)
    with store.transaction():
        store.forget_handled_before(101)
    assert [store.handled_until(name) for name in ("m1", "m2", "m3")] == [None, 101, 200]


def test_forgetting_is_undone_with_its_transaction(store: Store) -> None:
    fill(store)
    with pytest.raises(LookupError):
        fail_after(store, lambda store: store.forget_handled_before(500))
    assert store.handled_until("m1") == 100
    with store.transaction():
        store.forget_handled_before(500)
    assert store.handled_until("m1") is None


def test_a_timestamp_at_the_end_of_its_range_is_kept(store: Store) -> None:
    with store.transaction():
        store.record_handled("m1", 2**64)
        store.forget_handled_before(2**53)
    assert (store.handled_until("m1") or 0) > 2**53


def test_a_wipe_leaves_nothing(store: Store, reopen: Reopen) -> None:
    fill(store)
    with store.transaction():
        store.wipe()
    assert contents(reopen(store)) == (None, [], None)
