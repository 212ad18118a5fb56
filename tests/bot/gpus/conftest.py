"""A rig whose GPUs can be looked at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.bot.gpus.rig import Sampled
from tests.bot.ground import Outside
from tests.bot.training.rig import settings
from tests.databases import create_tables


@pytest.fixture
def sampled(tmp_path: Path) -> Iterator[Sampled]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield Sampled(database, outside, settings())
    outside.close()
    database.close()
