"""Training on SQLite and on the playground's cluster over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.ground import Outside
from tests.bot.training.keeping import SnapshotRig
from tests.bot.training.rig import Rig, settings
from tests.databases import create_tables


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield Rig(database, outside, settings())
    outside.close()
    database.close()


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[SnapshotRig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield SnapshotRig(database, outside, settings(), tmp_path)
    outside.close()
    database.close()
