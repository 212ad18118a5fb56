"""Removals on SQLite and on the playground's cluster over HTTP."""

from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.ground import Outside
from tests.bot.leftovers.removals.removing import Removing


@pytest.fixture
def removing(own_database: Database, outside: Outside, tmp_path: Path) -> Removing:
    return Removing(own_database, outside, tmp_path)
