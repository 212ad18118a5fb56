"""Writes that wait together are committed together, urgent ones first, or each alone."""

import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlmodel import col, select

from bot.database import schema
from bot.database.database import Database, Session
from bot.database.group_commit import GroupCommit
from bot.errors import ConflictError, DatabaseError
from bot.reconcile import due
from bot.reconcile.due import Due
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS
from tests.bot.database.test_database import NOW

Work = Callable[[Session], int]

WAITERS = 14
SOON_SECONDS = 0.3


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Database]:
    """A database in a file, whose commits are counted by those who hear of them."""
    url = f"sqlite:///{tmp_path}/rows.db"
    schema.upgrade(url)
    database = Database(url)
    yield database
    database.close()


def waking(name: str, error: Exception | None = None) -> Work:
    """Writes a row, then raises or says how many rows there are."""

    def work(session: Session) -> int:
        due.wake(session, "run", name, "lane", NOW)
        if error is not None:
            raise error
        return len(woken(session))

    return work


def running(statement: str) -> Work:
    """Has the database do something, after a row was written."""

    def work(session: Session) -> int:
        due.wake(session, "run", "other", "lane", NOW)
        session.connection().execute(text(statement))
        return 0

    return work


def woken(session: Session) -> list[str]:
    return sorted(session.scalars(select(col(Due.id))))


@contextmanager
def held(database: Database) -> Iterator[None]:
    """The writer has begun a transaction, which ends with the block."""
    begun, opened = threading.Event(), threading.Event()

    def work(_session: Session) -> None:
        begun.set()
        opened.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(database.transaction, work)
        assert begun.wait(PATIENCE_SECONDS)
        try:
            yield
        finally:
            opened.set()
            under_way.result()


def queued(
    database: Database, pool: ThreadPoolExecutor, work: Work, limit: float | None
) -> "Future[int]":
    """A transaction that waits for its turn when this returns."""
    writer = database._writer
    before = len(writer._urgent) + len(writer._others)
    future = pool.submit(database.transaction, work, deadline=limit)
    while len(writer._urgent) + len(writer._others) == before:
        threading.Event().wait(0.001)
    return future


def together(
    database: Database, *works: Work, limits: Sequence[float | None] = ()
) -> "list[int | Exception]":
    """What came of each, all queued while another transaction was running."""
    enough = time.monotonic() + PATIENCE_SECONDS
    each = zip(works, limits or [enough] * len(works), strict=True)
    with ThreadPoolExecutor(WAITERS) as pool:
        with held(database):
            futures = [queued(database, pool, work, limit) for work, limit in each]
        return [outcome(future) for future in futures]


def outcome(done: "Future[int]") -> int | Exception:
    error = done.exception(PATIENCE_SECONDS)
    assert error is None or isinstance(error, Exception)
    return error or done.result()


def heard(database: Database) -> list[frozenset[str]]:
    commits: list[frozenset[str]] = []
    database.on_commit(commits.append)
    return commits


def test_each_sees_what_others_wrote_before(file: Database) -> None:
    assert together(file, waking("a"), waking("b"), waking("c")) == [1, 2, 3]
    assert file.read(woken) == ["a", "b", "c"]


def test_waiting_writes_share_one_commit(file: Database) -> None:
    commits = heard(file)
    assert together(file, waking("a"), waking("b"), waking("c")) == [1, 2, 3]
    assert commits == [frozenset({"due"})]


def order_of(database: Database, *kinds: str) -> list[str]:
    """In which order transactions that wait are run."""
    order: list[str] = []

    def noting(kind: str) -> Work:
        def work(_session: Session) -> int:
            order.append(kind)
            return 0

        return work

    limits = [time.monotonic() + PATIENCE_SECONDS if each == "urgent" else None for each in kinds]
    together(database, *map(noting, kinds), limits=limits)
    return order


def test_urgent_writes_go_before_others(file: Database) -> None:
    kinds = ("other", "other", "urgent", "urgent")
    assert order_of(file, *kinds) == ["urgent", "urgent", "other", "other"]


def test_after_eight_urgent_comes_another(file: Database) -> None:
    order = order_of(file, "other", *["urgent"] * 12)
    assert order == [*["urgent"] * 8, "other", *["urgent"] * 4]


def test_after_a_stop_it_starts_again(file: Database) -> None:
    assert file.transaction(waking("a")) == 1
    (first,) = file.threads
    file.stop()
    assert not first.is_alive
    assert file.transaction(waking("b")) == 2
    (second,) = file.threads
    assert (second.is_alive, second is first) == (True, False)


@pytest.mark.postgres
def test_a_server_commits_each_alone(postgres_url: str) -> None:
    schema.upgrade(postgres_url)
    database = Database(postgres_url)
    commits = heard(database)
    assert [database.transaction(waking(name)) for name in ("a", "b")] == [1, 2]
    assert commits == [frozenset({"due"})] * 2
    database.close()


def test_one_that_raises_leaves_the_others(file: Database) -> None:
    refused = ConflictError("It is taken.")
    assert together(file, waking("a"), waking("b", refused), waking("c")) == [1, refused, 2]
    assert file.read(woken) == ["a", "c"]


def test_what_the_database_refuses_is_undone(file: Database) -> None:
    missing = running("SELECT * FROM nothing_of_the_kind")
    first, error, last = together(file, waking("a"), missing, waking("c"))
    assert (first, last) == (1, 2)
    assert isinstance(error, DatabaseError)
    assert file.read(woken) == ["a", "c"]


def test_a_late_one_is_undone_alone(file: Database) -> None:
    ends = threading.Event()

    def late(session: Session) -> int:
        ends.wait(2 * SOON_SECONDS)
        return waking("b")(session)

    soon, enough = time.monotonic() + SOON_SECONDS, time.monotonic() + PATIENCE_SECONDS
    works = (waking("a"), late, waking("c"))
    first, error, last = together(file, *works, limits=(enough, soon, enough))
    assert (first, str(error), last) == (1, "This took too long.", 2)
    assert file.read(woken) == ["a", "c"]


def test_one_that_waited_too_long_is_not_begun(file: Database) -> None:
    begun: list[str] = []

    def work(_session: Session) -> None:
        begun.append("late")

    with held(file), pytest.raises(DatabaseError, match="The database was too busy"):
        file.transaction(work, deadline=time.monotonic() + SOON_SECONDS)
    assert begun == []


def test_what_ended_the_transaction_is_told(file: Database) -> None:
    def lose(session: Session) -> int:
        # What SQLite does by itself when its disk is full.
        with suppress(IntegrityError):
            running("INSERT OR ROLLBACK INTO due SELECT * FROM due")(session)
        return 0

    first, error, last = together(file, waking("a"), lose, waking("c"))
    assert (first, str(error), last) == (1, "The database failed (OperationalError).", 2)
    assert file.read(woken) == ["a", "c"]


def test_a_commit_that_fails_is_done_anew(file: Database) -> None:
    def orphan(session: Session) -> int:
        connection = session.connection()
        connection.execute(text("PRAGMA defer_foreign_keys=ON"))
        connection.execute(text("INSERT INTO votes VALUES ('v', 'none', 'U0BOB', 'yes', 'now')"))
        return 0

    first, error, last = together(file, waking("a"), orphan, waking("c"))
    assert (first, str(error), last) == (1, "The database failed (IntegrityError).", 2)
    assert file.read(woken) == ["a", "c"]


def test_who_waits_for_a_dead_writer_is_told(file: Database) -> None:
    def dies(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code is GroupCommit._pass.__code__:
            raise SystemExit

    def work(_session: Session) -> int:
        sys.settrace(dies)
        raise OperationalError("", {}, sqlite3.OperationalError("database is locked"))

    with ThreadPoolExecutor(1) as pool:
        enough = time.monotonic() + PATIENCE_SECONDS
        begun = outcome(pool.submit(file.transaction, work, deadline=enough))
        after = outcome(pool.submit(file.transaction, waking("a")))
    assert [(type(each), str(each), getattr(each, "hint", "")) for each in (begun, after)] == [
        (
            DatabaseError,
            "The thread that writes to the database has ended.",
            "It is unknown whether this was recorded. Check before you repeat it.",
        ),
        (
            DatabaseError,
            "The thread that writes to the database has ended.",
            "Nothing was done. Try again in a moment.",
        ),
    ]
