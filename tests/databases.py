"""A database of each kind for a test, with the tables of the code as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import SQLModel

from bot.database.connection import engines
from bot.database.database import Database

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


def create_tables(url: str) -> None:
    """Makes the tables that are declared so far, without migrations."""
    write, read = engines(url)
    SQLModel.metadata.create_all(write)
    write.dispose()
    read.dispose()
