"""A database of each kind for a test, with the tables of the code as it is."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement
from sqlmodel import SQLModel

from bot.database.database import Database
from bot.database.revisions import known, newest

_BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
# For tests of a rig that is on SQLite otherwise.
ON_BOTH = pytest.mark.parametrize("own_database", _BOTH, indirect=True)


@pytest.fixture(params=_BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: once SQLite, once PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/test.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database with every table."""
    create_tables(database_url)
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def own_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A SQLite database with every table; with `ON_BOTH` a PostgreSQL one in its turn."""
    is_postgres = getattr(request, "param", "sqlite") == "postgres"
    url = request.getfixturevalue("postgres_url") if is_postgres else f"sqlite:///{tmp_path}/it.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


def create_schema(url: str) -> None:
    """Makes the schema that migrations end with, in an empty database; test_schema compares them.

    Migrations themselves take a second of the processor.
    """
    revision = newest(known())
    version = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
    row = f"INSERT INTO alembic_version VALUES ('{revision}')"  # noqa: S608 - one of ours
    create_tables(url, f"; {version}; {row}")


def create_tables(url: str, more: str = "") -> None:
    """Makes the tables that are declared so far, without migrations, in an empty database.

    Thousands of tests want them: their statements are made once, and sent in one piece.
    """
    statements = _statements(url.partition(":")[0], len(SQLModel.metadata.tables)) + more
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            # The bot's own mode; the mode stays with the file, and so does not cost each test.
            file.executescript(f"PRAGMA journal_mode=WAL; BEGIN; {statements}; COMMIT")
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"BEGIN; {statements}; COMMIT".encode())


@cache
def _statements(dialect: str, _tables: int) -> str:
    """What makes as many tables as are declared by now."""
    made: list[str] = []

    def keep(statement: ExecutableDDLElement, *_: Any, **__: Any) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine(f"{dialect}://", keep)
    SQLModel.metadata.create_all(engine, checkfirst=False)
    return ";".join(made)
