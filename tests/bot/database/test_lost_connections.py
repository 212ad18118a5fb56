"""Connections to PostgreSQL that end: what is repeated, and what is said about the rest."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from bot.database.database import Database, Session
from bot.errors import DatabaseError
from bot.reconcile import due
from bot.reconcile.due import Due
from tests.bot.database.cutting import Wire, wired
from tests.databases import create_tables
from tests.moments import off_the_minute

pytestmark = pytest.mark.postgres

NOW = off_the_minute(datetime(2026, 11, 27, 12, 0, tzinfo=UTC))


@pytest.fixture
def wire(postgres_url: str) -> Iterator[Wire]:
    with wired(postgres_url) as between:
        yield between


@pytest.fixture
def database(wire: Wire, postgres_url: str) -> Iterator[Database]:
    create_tables(postgres_url)
    with closing(Database(wire.url(postgres_url))) as opened:
        opened.transaction(lambda session: due.wake(session, "run", "first", "lane", NOW))
        yield opened


def kept(database: Database, name: str) -> bool:
    return database.read(lambda session: session.get(Due, ("run", name)) is not None)


class Once:
    """Work that recognises what it has recorded; `found` says in which attempts it did."""

    def __init__(self) -> None:
        self.found: list[bool] = []

    def __call__(self, session: Session) -> str:
        """Records it unless it is recorded."""
        self.found.append(session.get(Due, ("run", "new")) is not None)
        if not self.found[-1]:
            due.wake(session, "run", "new", "lane", NOW)
        return "done"


def soon() -> float:
    """A deadline that a request of a person could have."""
    return time.monotonic() + 2.5


def test_a_commit_without_an_answer_is_found(database: Database, wire: Wire) -> None:
    work = Once()
    wire.lost = 1
    assert database.transaction(work, deadline=soon()) == "done"
    assert work.found == [False, True]


def test_a_transaction_that_was_cut_is_repeated(database: Database, wire: Wire) -> None:
    work = Once()
    wire.cut = [b"COMMIT"]
    assert database.transaction(work, deadline=soon()) == "done"
    assert work.found == [False, False]
    assert kept(database, "new")


def test_work_in_the_background_is_not_repeated(database: Database, wire: Wire) -> None:
    """It may not recognise what it has done; its caller looks again."""
    work = Once()
    wire.lost = 1
    with pytest.raises(DatabaseError) as caught:
        database.transaction(work)
    assert caught.value.message == "The database connection was lost."
    assert caught.value.hint == (
        "It is unknown whether this was recorded. Check before you repeat it."
    )
    assert work.found == [False]


def test_a_server_that_stays_away_leaves_doubt(database: Database, wire: Wire) -> None:
    work = Once()
    wire.lost, wire.refuses = 1, True
    began = time.monotonic()
    with pytest.raises(DatabaseError) as caught:
        database.transaction(work, deadline=began + 0.5)
    assert caught.value.hint == (
        "It is unknown whether this was recorded. Check before you repeat it."
    )
    assert time.monotonic() >= began + 0.5
    wire.refuses = False
    assert kept(database, "new")


def test_a_repetition_that_is_late_leaves_doubt(database: Database, wire: Wire) -> None:
    work = Once()
    wire.lost, limit = 1, time.monotonic() + 0.5

    def slower(session: Session) -> str:
        said = work(session)
        if work.found[-1]:
            session.connection().exec_driver_sql("SELECT pg_sleep(0.6)")
        return said

    with pytest.raises(DatabaseError) as caught:
        database.transaction(slower, deadline=limit)
    assert work.found == [False, True]
    assert caught.value.hint == (
        "It is unknown whether this was recorded. Check before you repeat it."
    )


def test_a_server_that_was_away_did_nothing(database: Database, wire: Wire) -> None:
    wire.refuses, wire.cut = True, [b"SELECT", b"BEGIN"]
    with pytest.raises(DatabaseError) as caught:
        database.transaction(Once(), deadline=time.monotonic() + 0.5)
    assert caught.value.message == "The database failed (OperationalError)."
    assert caught.value.hint == "Nothing was done. Try again in a moment."


def test_a_read_that_was_cut_is_repeated(database: Database, wire: Wire) -> None:
    wire.cut = [b"FROM due"]
    assert kept(database, "first")
    assert not wire.cut


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have other options")
def test_a_silent_server_is_given_up(database: Database) -> None:
    def options(session: Session) -> dict[str, int]:
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
        driver = session.connection().connection.driver_connection
        assert driver is not None
        with socket.socket(fileno=os.dup(driver.fileno())) as its:
            return {
                name: its.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names
            }

    given = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 10_000}
    assert database.read(options) == given
    assert database.transaction(options) == given
