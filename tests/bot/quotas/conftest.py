"""Quotas on SQLite, and queues behind HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.cluster.api.api_server import serving
from tests.bot.quotas.rig import Rig
from tests.databases import create_tables


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    with serving() as server:
        yield Rig(database, server, tmp_path)
    database.close()
