"""What watches saw: gathered, written once, kept when it cannot be written."""

import threading
from collections.abc import Iterable

from bot.clock import Clock
from bot.cluster import resources
from bot.cluster.view import Change
from bot.database.database import Database
from bot.due import Due
from bot.wakeups import Wakeup, Wakeups
from tests.bot.cluster.api_server import PATIENCE_SECONDS

CHANGE = Change("default", resources.JOBS, "modified", None)


def concerns(*rows: str) -> Iterable[Wakeup]:
    return [Wakeup("run", row, "cluster:default") for row in rows]


def test_changes_wake_the_rows_they_concern(database: Database) -> None:
    woken = threading.Event()
    database.on_commit(lambda topics: woken.set() if "due" in topics else None)
    wakeups = Wakeups(
        database, Clock(), [lambda _change: concerns("a", "b"), lambda _change: concerns("a")]
    )
    wakeups.hear(CHANGE)
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
            wakeups.hear(CHANGE)
        else:
            twice.set()

    database.on_commit(heard)
    wakeups.hear(CHANGE)
    wakeups.start()
    assert twice.wait(PATIENCE_SECONDS)
    wakeups.stop()
    assert database.read(lambda session: session.get_one(Due, ("run", "a")).wakes) == 2
