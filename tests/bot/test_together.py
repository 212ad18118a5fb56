"""What several people want written at the same moment is committed at once, or each alone."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from bot.database import schema
from bot.database.database import Database, Session
from bot.errors import ConflictError, DatabaseError
from bot.reconcile import due
from bot.reconcile.due import Due
from tests.bot.cluster.api_server import PATIENCE_SECONDS
from tests.bot.test_database import NOW

Work = Callable[[Session], int]


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


def together(
    database: Database, *works: Work, limits: Sequence[float] = ()
) -> "list[int | Exception]":
    """What each came to, with time enough unless told otherwise."""
    enough = time.monotonic() + PATIENCE_SECONDS
    each = zip(works, limits or [enough] * len(works), strict=True)
    return [outcome(done) for done in database.together(list(each))]


def outcome(done: "Future[int]") -> int | Exception:
    error = done.exception(timeout=0)
    assert error is None or isinstance(error, Exception)
    return error or done.result()


def heard(database: Database) -> list[frozenset[str]]:
    commits: list[frozenset[str]] = []
    database.on_commit(commits.append)
    return commits


def test_each_sees_what_others_wrote_before(database: Database) -> None:
    assert together(database, waking("a"), waking("b"), waking("c")) == [1, 2, 3]
    assert database.read(woken) == ["a", "b", "c"]


def test_a_file_is_committed_once(file: Database) -> None:
    commits = heard(file)
    assert together(file, waking("a"), waking("b"), waking("c")) == [1, 2, 3]
    assert commits == [frozenset({"due"})]


@pytest.mark.postgres
def test_a_server_commits_each_alone(postgres_url: str) -> None:
    schema.upgrade(postgres_url)
    database = Database(postgres_url)
    commits = heard(database)
    assert together(database, waking("a"), waking("b")) == [1, 2]
    assert commits == [frozenset({"due"})] * 2
    database.close()


def test_one_that_raises_leaves_the_others(database: Database) -> None:
    refused = ConflictError("It is taken.")
    assert together(database, waking("a"), waking("b", refused), waking("c")) == [1, refused, 2]
    assert database.read(woken) == ["a", "c"]


def test_what_the_database_refuses_is_undone(database: Database) -> None:
    missing = running("SELECT * FROM nothing_of_the_kind")
    first, error, last = together(database, waking("a"), missing, waking("c"))
    assert (first, last) == (1, 2)
    assert isinstance(error, DatabaseError)
    assert database.read(woken) == ["a", "c"]


def test_a_late_one_is_undone_alone(database: Database) -> None:
    soon, enough = time.monotonic(), time.monotonic() + PATIENCE_SECONDS
    works = (waking("a"), waking("b"), waking("c"))
    first, late, last = together(database, *works, limits=(enough, soon, enough))
    assert (first, str(late), last) == (1, "This took too long.", 2)
    assert database.read(woken) == ["a", "c"]


def test_a_lost_transaction_is_done_anew(file: Database) -> None:
    def lose(session: Session) -> int:
        # What SQLite does by itself when its disk is full.
        with suppress(IntegrityError):
            running("INSERT OR ROLLBACK INTO due SELECT * FROM due")(session)
        return 0

    assert together(file, waking("a"), lose, waking("c")) == [1, 0, 2]
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


def test_nothing_to_do_is_done(database: Database) -> None:
    assert together(database) == []
