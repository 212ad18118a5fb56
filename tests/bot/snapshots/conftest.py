"""Snapshots on SQLite and on the playground's cluster over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.ground import Outside
from tests.bot.snapshots.in_place import InPlace
from tests.bot.snapshots.rig import Rig
from tests.databases import create_tables


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield Rig(database, outside, tmp_path)
    outside.close()
    database.close()


@pytest.fixture
def in_place(tmp_path: Path) -> Iterator[InPlace]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield InPlace(database, outside, tmp_path)
    outside.close()
    database.close()
