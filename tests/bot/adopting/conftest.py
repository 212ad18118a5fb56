"""Training on SQLite and on the playground's cluster over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.config import Settings
from bot.database.database import Database
from playground.cluster.story import plain_cluster
from tests.bot.ground import Outside
from tests.bot.training.rig import Rig, settings
from tests.databases import create_tables


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Iterator[Rig]:
    rig = Rig(own_database, outside, settings())
    yield rig
    rig.database.close()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Rig]:
    """Training on a cluster without a quota engine."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    outside = Outside(tmp_path, plain_cluster)
    policy = settings(admission={"host_network": ["sync"]}).model_dump()
    policy["clusters"] = {"default": {"engine": "none"}}
    rig = Rig(Database(url), outside, Settings.model_validate(policy))
    yield rig
    rig.database.close()
    outside.close()
