"""Writing and reading: serializable, in turn, never half."""

import sqlite3
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from bot.database import schema
from bot.database.columns import new_id
from bot.database.connection import engines
from bot.database.database import Database, Session
from bot.errors import ConfigurationError, DatabaseError
from bot.reconcile import due
from bot.reconcile.due import Due
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS
from tests.databases import create_tables
from tests.moments import off_the_minute

NOW = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def test_writers_at_once_all_count(database: Database) -> None:
    def add(_number: int) -> None:
        database.transaction(lambda session: due.wake(session, "run", "one", "lane", NOW))

    def read_then_write(_number: int) -> None:
        def work(session: Session) -> None:
            row = session.get(Due, ("run", "one"))
            if row is not None:
                row.attempts += 1

        database.transaction(work)

    add(0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read_then_write, range(80)))
    row = database.read(lambda session: session.get_one(Due, ("run", "one")))
    assert row.attempts == 80


def counted(databases: Sequence[Database], *, hurried: bool) -> list[int]:
    """Has eight threads read a row and write it, 80 times in all; one entry for each attempt."""
    attempts: list[int] = []

    def count(number: int) -> None:
        def work(session: Session) -> None:
            attempts.append(number)
            session.get_one(Due, ("run", "one")).attempts += 1

        limit = time.monotonic() + PATIENCE_SECONDS if hurried else None
        databases[number % len(databases)].transaction(work, deadline=limit)

    databases[0].transaction(lambda session: due.wake(session, "run", "one", "lane", NOW))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(80)))
    assert databases[0].read(lambda session: session.get_one(Due, ("run", "one")).attempts) == 80
    return attempts


@pytest.mark.postgres
@pytest.mark.parametrize("hurried", [True, False])
def test_writers_of_one_process_repeat_nothing(postgres_url: str, *, hurried: bool) -> None:
    create_tables(postgres_url)
    with closing(Database(postgres_url)) as database:
        assert sorted(counted([database], hurried=hurried)) == list(range(80))


@pytest.mark.postgres
def test_writers_of_two_processes_all_count(postgres_url: str) -> None:
    create_tables(postgres_url)
    with closing(Database(postgres_url)) as one, closing(Database(postgres_url)) as other:
        assert set(counted([one, other], hurried=False)) == set(range(80))


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    def work(session: Session) -> None:
        due.wake(session, "run", "half", "lane", NOW)
        raise LookupError

    with pytest.raises(LookupError):
        database.transaction(work)
    assert database.read(lambda session: session.get(Due, ("run", "half"))) is None


def test_a_late_acknowledgement_is_rolled_back(database: Database) -> None:
    def work(session: Session) -> None:
        due.wake(session, "run", "late", "lane", NOW)

    with pytest.raises(DatabaseError) as caught:
        database.transaction(work, deadline=time.monotonic())
    assert caught.value.hint == "Nothing was done. Try again in a moment."
    assert database.read(lambda session: session.get(Due, ("run", "late"))) is None


def test_work_is_committed_within_its_patience(database: Database) -> None:
    def work(session: Session) -> None:
        due.wake(session, "run", "long", "lane", NOW)

    with pytest.raises(DatabaseError):
        database.transaction(work, patience_seconds=0.0)
    assert database.read(lambda session: session.get(Due, ("run", "long"))) is None
    database.transaction(work, patience_seconds=60.0)
    assert database.read(lambda session: session.get(Due, ("run", "long"))) is not None


def test_an_acknowledgement_does_not_queue_for_ever(database: Database) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(session: Session) -> None:
        due.wake(session, "run", "same", "lane", NOW)
        session.flush()
        held.set()
        release.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(database.transaction, hold)
        assert held.wait(PATIENCE_SECONDS)
        with pytest.raises(DatabaseError):
            database.transaction(
                lambda session: due.wake(session, "run", "same", "lane", NOW),
                deadline=time.monotonic() + PATIENCE_SECONDS,
            )
        assert not slow.done()
        release.set()
        slow.result()


@pytest.mark.postgres
def test_an_acknowledgement_waits_little_for_locks(postgres_url: str) -> None:
    def waits(session: Session) -> tuple[str, ...]:
        limits = ("lock_timeout", "statement_timeout")
        return tuple(str(session.scalar(text(f"SHOW {limit}"))) for limit in limits)

    database = Database(postgres_url)
    hurried = database.transaction(waits, deadline=time.monotonic() + PATIENCE_SECONDS)
    assert hurried == ("1500ms", "1500ms")
    assert database.transaction(waits) == ("5s", "10s")
    database.close()


def test_a_file_locked_elsewhere_is_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/rows.db"
    schema.upgrade(url)
    database = Database(url)

    def wake(session: Session) -> None:
        due.wake(session, "run", "x", "lane", NOW)

    with closing(sqlite3.connect(tmp_path / "rows.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError) as caught:
            database.transaction(wake, deadline=time.monotonic() + 1)
        other.execute("ROLLBACK")
    assert caught.value.message == "The database was too busy."
    database.transaction(wake)
    assert database.read(lambda session: session.get_one(Due, ("run", "x")).wakes) == 1
    database.close()


def test_nobody_waits_for_the_log_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "bot.db"
    schema.upgrade(f"sqlite:///{file}")
    database = Database(f"sqlite:///{file}")
    before = file.stat().st_size
    long = "x" * 90_000
    for _ in range(60):
        database.transaction(
            lambda session: due.wake(session, long, new_id(), "lane", NOW),
            deadline=time.monotonic() + 60,
        )
    assert file.stat().st_size == before
    database.transaction(lambda session: due.wake(session, "run", "last", "lane", NOW))
    assert file.stat().st_size > before + 60 * 90_000
    database.close()


def test_listeners_hear_of_commits_only(database: Database) -> None:
    heard: list[frozenset[str]] = []
    database.on_commit(heard.append)
    database.transaction(lambda session: due.wake(session, "run", "x", "lane", NOW))
    database.transaction(lambda session: session.get(Due, ("run", "x")))
    with pytest.raises(DatabaseError):
        database.transaction(
            lambda session: due.wake(session, "run", "y", "lane", NOW), deadline=0.0
        )
    assert heard == [frozenset({"due"})]


def test_times_come_back_with_their_zone(database: Database) -> None:
    database.transaction(lambda session: due.wake(session, "run", "x", "lane", NOW))
    row = database.read(lambda session: session.get_one(Due, ("run", "x")))
    assert row.due_at == NOW
    assert row.due_at is not None
    assert row.due_at.tzinfo is UTC


def test_the_database_clock_is_real(database: Database) -> None:
    before = datetime.now(UTC)
    told = database.read(database.real_now)
    assert before <= told <= datetime.now(UTC)


@pytest.mark.postgres
def test_the_zone_of_a_server_does_not_matter(postgres_url: str) -> None:
    order = f"ALTER DATABASE {postgres_url.rsplit('/', 1)[1]} SET timezone TO 'Europe/Berlin'"
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(order.encode())
    database = Database(postgres_url)
    assert database.read(database.real_now).tzinfo is UTC
    database.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "The database URL is not valid"),
        ("oracle://db.example/x", "oracle is not a supported database"),
    ],
)
def test_foreign_database_urls_are_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        engines(url)
    assert caught.value.message == message
