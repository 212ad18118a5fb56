"""A database of each kind for a test, with the tables of the code as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import SQLModel

from bot.database.connection import engines
from bot.database.database import Database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
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


def create_tables(url: str) -> None:
    """Makes the tables that are declared so far, without migrations."""
    write, read = engines(url)
    SQLModel.metadata.create_all(write)
    write.dispose()
    read.dispose()
