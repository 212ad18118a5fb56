"""What tests of pushes share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.datasets.pushes.pushing import Pushing
from tests.bot.ground import Outside
from tests.databases import create_tables


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Pushing]:
    """Everything of pushes on a new database, with a cluster behind HTTP."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database, outside = Database(url), Outside(tmp_path)
    yield Pushing(database, outside)
    outside.close()
    database.close()
