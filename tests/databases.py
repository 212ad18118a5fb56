"""A database of each kind for a test, with the tables of the code as it is."""

import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import Dialect, Engine, create_engine, create_mock_engine, event
from sqlalchemy.schema import ExecutableDDLElement
from sqlmodel import SQLModel

from bot.database import connection
from bot.database.database import Database
from bot.database.revisions import known, newest
from tests.postgres import copying

_BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
# For tests of a rig that is on SQLite otherwise.
ON_BOTH = pytest.mark.parametrize("own_database", _BOTH, indirect=True)


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """Lets thousands of tests, each with engines of its own, compile a statement only once."""
    dialects: dict[tuple[object, ...], Dialect] = {}
    compiled: dict[Dialect, dict[Any, Any]] = defaultdict(dict)

    def create(url: str, **options: Any) -> Engine:
        engine = create_engine(url, **options)

        def share(*_: object) -> None:
            # Now, because the first connection has told the dialect what the server is.
            sort = (engine.dialect.name, options.get("isolation_level"))
            engine.dialect = dialects.setdefault(sort, engine.dialect)
            engine.update_execution_options(compiled_cache=compiled[engine.dialect])

        event.listen(engine, "connect", share, once=True)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "create_engine", create)
        yield


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


@contextmanager
def opened_by_processes(database: Database, count: int) -> Iterator[list[Database]]:
    """The database as so many processes have it: the writers of one of them take turns.

    A file of SQLite has one process.
    """
    url = database._write.url.render_as_string(hide_password=False)
    with ExitStack() as opened:
        more = 0 if database.is_sqlite else count - 1
        others = [opened.enter_context(closing(Database(url))) for _ in range(more)]
        yield [database] * (count - more) + others


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

    Thousands of tests want them, so they are made once, and copied as files.
    """
    statements = _statements(url.partition(":")[0], len(SQLModel.metadata.tables)) + more
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).write_bytes(_sqlite_file(statements))
    else:
        server, _, name = url.rpartition("/")
        template = _postgres_template(server, statements)
        with psycopg.connect(f"{server}/postgres", autocommit=True) as session:
            session.execute(f"DROP DATABASE {name}".encode())
            session.execute(copying(session, name, template))


@cache
def _sqlite_file(statements: str) -> bytes:
    """A database in the bot's own mode: the mode stays with the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        with closing(sqlite3.connect(path)) as file:
            file.executescript(f"PRAGMA journal_mode=WAL; BEGIN; {statements}; COMMIT")
        return path.read_bytes()


@cache
def _postgres_template(server: str, statements: str) -> str:
    """The name of a database of this server from which others are copied."""
    name = f"template_{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as session:
        session.execute(copying(session, name, "template1"))
    with psycopg.connect(f"{server}/{name}", autocommit=True) as session:
        session.execute(f"BEGIN; {statements}; COMMIT".encode())
    return name


@cache
def _statements(dialect: str, _tables: int) -> str:
    """What makes as many tables as are declared by now."""
    made: list[str] = []

    def keep(statement: ExecutableDDLElement, *_: Any, **__: Any) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine(f"{dialect}://", keep)
    SQLModel.metadata.create_all(engine, checkfirst=False)
    return ";".join(made)
