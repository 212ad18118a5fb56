"""Training on SQLite and on the playground's cluster over HTTP."""

from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.ground import Outside
from tests.bot.training.keeping import SnapshotRig
from tests.bot.training.rig import Rig, settings


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Rig:
    return Rig(own_database, outside, settings())


@pytest.fixture
def keeping(own_database: Database, outside: Outside, tmp_path: Path) -> SnapshotRig:
    return SnapshotRig(own_database, outside, settings(), tmp_path)
