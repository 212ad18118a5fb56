"""Snapshots on SQLite and on the playground's cluster over HTTP."""

from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.ground import Outside
from tests.bot.snapshots.copies.copying import Copying
from tests.bot.snapshots.deletions.deleting import Deleting
from tests.bot.snapshots.resizes.resizing import Resizing
from tests.bot.snapshots.reverts.in_place import InPlace
from tests.bot.snapshots.rig import Rig


@pytest.fixture
def rig(own_database: Database, outside: Outside, tmp_path: Path) -> Rig:
    return Rig(own_database, outside, tmp_path)


@pytest.fixture
def in_place(own_database: Database, outside: Outside, tmp_path: Path) -> InPlace:
    return InPlace(own_database, outside, tmp_path)


@pytest.fixture
def resizing(own_database: Database, outside: Outside, tmp_path: Path) -> Resizing:
    return Resizing(own_database, outside, tmp_path)


@pytest.fixture
def deleting(own_database: Database, outside: Outside, tmp_path: Path) -> Deleting:
    return Deleting(own_database, outside, tmp_path)


@pytest.fixture
def copying(own_database: Database, outside: Outside, tmp_path: Path) -> Copying:
    return Copying(own_database, outside, tmp_path)
