"""Statements that are compiled once: the same rows as SQLAlchemy writes, and the same failures."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import bindparam, insert, select
from sqlmodel import col

from bot.audit import AuditLine
from bot.database.columns import moment_of
from bot.database.database import Database, Session
from bot.database.prepared import Prepared
from bot.due import Due
from bot.errors import DatabaseError

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LINE = {"at": NOON, "workspace_id": "T0QM", "verb": "run.submit", "subject_kind": "run",
        "subject_id": "one"}  # fmt: skip


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
    kept = database.read(lambda session: find(session, {"verb": "run.submit"}).scalar_one())
    assert moment_of(kept) == NOON
    assert moment_of(None) is None


def test_a_value_that_is_missing_is_no_null(database: Database) -> None:
    find = Prepared(
        select(col(Due.id)).where(col(Due.kind) == bindparam("kind"), col(Due.id) == bindparam("x"))
    )
    with pytest.raises(TypeError, match="no value for x"):
        database.read(lambda session: find(session, {"kind": "run"}))
