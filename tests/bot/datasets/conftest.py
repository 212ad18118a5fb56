"""Datasets on SQLite and on the playground's cluster over HTTP."""

import pytest

from bot.database.database import Database
from tests.bot.datasets.rig import Rig
from tests.bot.ground import Outside


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Rig:
    return Rig(own_database, outside)
