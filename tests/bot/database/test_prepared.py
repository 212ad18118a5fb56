"""Statements that are compiled once: the same rows as SQLAlchemy writes, and the same failures."""

from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest
from sqlalchemy import bindparam, func, insert, select, text, update
from sqlmodel import col

from bot.audit import AuditLine
from bot.database.columns import moment_of
from bot.database.database import Database, Session
from bot.database.prepared import Prepared, savepoint
from bot.errors import DatabaseError
from bot.reconcile.due import Due
from tests.databases import create_tables
from tests.moments import off_the_minute

NOON = off_the_minute(datetime(2026, 11, 22, 12, 0, tzinfo=UTC))
LINE = {"at": NOON, "workspace_id": "T0QM", "verb": "run.submit", "subject_kind": "run",
        "subject_id": "one"}  # fmt: skip


COUNT = Prepared(select(func.count()).select_from(AuditLine))
WRITE = Prepared(insert(AuditLine))


def lines(database: Database) -> list[AuditLine]:
    return database.read(lambda session: list(session.scalars(select(AuditLine))))


def test_a_row_gets_the_tables_defaults(database: Database) -> None:
    write = Prepared(insert(AuditLine))

    def work(session: Session) -> None:
        write(session, LINE)
        write(session, LINE)

    database.transaction(work)
    first, second = lines(database)
    assert first.id != second.id
    assert (first.at, first.facts, first.person) == (NOON, {}, None)


def test_values_are_kept_as_their_columns_keep_them(database: Database) -> None:
    write = Prepared(insert(AuditLine))
    at = NOON.astimezone(timezone(timedelta(hours=2)))
    database.transaction(lambda session: write(session, LINE | {"at": at, "facts": {"a": "1"}}))
    (line,) = lines(database)
    assert (line.at, line.facts) == (NOON, {"a": "1"})


def test_other_names_are_compiled_anew(database: Database) -> None:
    write = Prepared(insert(AuditLine))

    def work(session: Session) -> None:
        write(session, LINE)
        write(session, LINE | {"person": "U0ALICE"})
        write(session, LINE)

    database.transaction(work)
    assert sorted(line.person or "" for line in lines(database)) == ["", "", "U0ALICE"]


def test_a_row_that_is_there_is_an_error(database: Database) -> None:
    write = Prepared(insert(Due))
    row = {"kind": "run", "id": "one", "lane": "lane"}
    database.transaction(lambda session: write(session, row))
    with pytest.raises(DatabaseError) as caught:
        database.transaction(lambda session: write(session, row))
    assert caught.value.message == "The database failed (IntegrityError)."


def test_moments_come_back_with_their_zone(database: Database) -> None:
    database.transaction(lambda session: Prepared(insert(AuditLine))(session, LINE))
    find = Prepared(select(col(AuditLine.at)).where(col(AuditLine.verb) == bindparam("verb")))
    ((kept,),) = database.read(lambda session: find(session, {"verb": "run.submit"}).rows)
    assert moment_of(kept) == NOON
    assert moment_of(None) is None


def test_a_value_that_is_missing_is_no_null(database: Database) -> None:
    find = Prepared(
        select(col(Due.id)).where(col(Due.kind) == bindparam("kind"), col(Due.id) == bindparam("x"))
    )
    with pytest.raises(TypeError, match="no value for x"):
        database.read(lambda session: find(session, {"kind": "run"}))


def test_a_read_has_one_view_of_all(database: Database) -> None:
    def write() -> None:
        database.transaction(lambda session: WRITE(session, LINE))

    def work(session: Session) -> list[int]:
        before = COUNT(session, {}).rows[0][0]
        write()
        by_session = len(session.scalars(select(AuditLine)).all())
        write()
        return [before, by_session, COUNT(session, {}).rows[0][0]]

    assert database.read(work) == [0, 0, 0]
    assert len(lines(database)) == 2


@pytest.mark.postgres
def test_a_conflict_in_one_is_tried_again(postgres_url: str) -> None:
    create_tables(postgres_url)
    database, elsewhere = Database(postgres_url), Database(postgres_url)
    count = Prepared(
        update(Due).where(col(Due.id) == bindparam("row")).values(wakes=col(Due.wakes) + 1)
    )
    seen: list[int] = []

    def work(session: Session) -> int:
        seen.append(session.get_one(Due, ("run", "one")).wakes)
        if len(seen) == 1:
            elsewhere.transaction(lambda other: count(other, {"row": "one"}))
        return count(session, {"row": "one"}).rowcount

    database.transaction(
        lambda session: session.add(Due(kind="run", id="one", lane="lane", wakes=1))
    )
    assert (database.transaction(work), seen) == (1, [1, 2])
    assert database.read(lambda session: session.get_one(Due, ("run", "one")).wakes) == 3
    database.close()
    elsewhere.close()


@pytest.mark.postgres
def test_a_connection_lost_in_one_is_said(postgres_url: str) -> None:
    create_tables(postgres_url)
    database = Database(postgres_url)

    def lose(session: Session) -> None:
        WRITE(session, LINE)
        process = session.scalar(text("SELECT pg_backend_pid()"))
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 60000)", (process,))
        WRITE(session, LINE)

    for ask in (database.transaction, database.read):
        with pytest.raises(DatabaseError) as caught:
            ask(lose)
        assert caught.value.message == "The database connection was lost."
    database.transaction(lambda session: WRITE(session, LINE))
    assert len(lines(database)) == 1
    database.close()


def test_a_savepoint_takes_back_prepared_statements(database: Database) -> None:
    def fail(session: Session) -> None:
        with savepoint(session):
            WRITE(session, LINE | {"subject_id": "outer"})
            with savepoint(session):
                WRITE(session, LINE | {"subject_id": "inner"})
                raise DatabaseError("It does not fit.")

    def work(session: Session) -> None:
        WRITE(session, LINE)
        with pytest.raises(DatabaseError):
            fail(session)
        with savepoint(session):
            WRITE(session, LINE | {"subject_id": "last"})

    database.transaction(work)
    assert [each.subject_id for each in lines(database)] == ["one", "last"]
