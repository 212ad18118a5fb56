"""What watches saw: gathered, written once, kept when it cannot be written."""

import threading
from collections.abc import Iterable

from sqlmodel import select

from bot.clock import Clock
from bot.cluster import resources
from bot.cluster.view import Change
from bot.database.database import Database
from bot.reconcile.due import Due
from bot.reconcile.wakeups import Wakeup, Wakeups
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS
from tests.bot.odd_clock import OddClock

CHANGE = Change("default", resources.JOBS, "modified", None)


def concerns(*rows: str) -> Iterable[Wakeup]:
    return [Wakeup("run", row, "cluster:default") for row in rows]


def test_changes_wake_the_rows_they_concern(database: Database) -> None:
    woken = threading.Event()
    database.on_commit(lambda topics: woken.set() if "due" in topics else None)
    wakeups = Wakeups(
        database, Clock(), [lambda _change: concerns("a", "b"), lambda _change: concerns("a")]
    )
    wakeups.on_change(CHANGE)
    assert not wakeups.is_quiet()
    wakeups.start()
    assert woken.wait(PATIENCE_SECONDS)
    wakeups.stop()
    assert wakeups.is_quiet()
    rows = database.read(
        lambda session: [session.get_one(Due, ("run", row)).wakes for row in ("a", "b")]
    )
    assert rows == [1, 1]


def test_a_change_during_the_writing_counts_again(database: Database) -> None:
    wakeups = Wakeups(database, Clock(), [lambda _change: concerns("a")])
    twice = threading.Event()
    commits: list[str] = []

    def heard(topics: frozenset[str]) -> None:
        commits.extend(topics)
        if len(commits) == 1:
            wakeups.on_change(CHANGE)
        else:
            twice.set()

    database.on_commit(heard)
    wakeups.on_change(CHANGE)
    wakeups.start()
    assert twice.wait(PATIENCE_SECONDS)
    wakeups.stop()
    assert database.read(lambda session: session.get_one(Due, ("run", "a")).wakes) == 2


def test_thousands_of_rows_keep_no_writer_waiting(database: Database) -> None:
    """A watch that begins anew may find every run changed; others write in between."""
    rows = [f"{number:04}" for number in range(250)]
    wakeups = Wakeups(database, Clock(), [lambda _change: concerns(*rows)])
    commits: list[frozenset[str]] = []
    enough = threading.Event()

    def heard(topics: frozenset[str]) -> None:
        commits.append(topics)
        if len(commits) == 3:
            enough.set()

    database.on_commit(heard)
    wakeups.on_change(CHANGE)
    wakeups.start()
    assert enough.wait(PATIENCE_SECONDS)
    wakeups.stop()
    found = database.read(lambda session: list(session.exec(select(Due).order_by(Due.id))))
    assert [(row.id, row.wakes) for row in found] == [(row, 1) for row in rows]
    assert len(commits) == 3


def test_an_ear_that_breaks_deafens_no_other(database: Database) -> None:
    def breaks(_change: Change) -> Iterable[Wakeup]:
        raise KeyError("labels")

    wakeups = Wakeups(database, Clock(), [breaks, lambda _change: concerns("a")])
    wakeups.on_change(CHANGE)
    assert not wakeups.is_quiet()


def test_what_could_not_be_written_is_kept(database: Database) -> None:
    woken = threading.Event()
    database.on_commit(lambda topics: woken.set() if "due" in topics else None)
    wakeups = Wakeups(database, OddClock(), [lambda _change: concerns("a")])
    wakeups.on_change(CHANGE)
    wakeups.start()
    assert woken.wait(PATIENCE_SECONDS)
    wakeups.stop()
    assert database.read(lambda session: session.get_one(Due, ("run", "a")).wakes) == 1
