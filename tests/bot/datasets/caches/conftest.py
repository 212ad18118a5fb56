"""Caches that are there, on SQLite and on the playground's cluster over HTTP."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.database.database import Database
from playground.cluster.story import story_cluster
from tests.arm import Arm, served
from tests.bot.datasets.caches.boosting import Boosting
from tests.bot.datasets.caches.clusters import TwoCaching
from tests.bot.datasets.caches.filling import Filling
from tests.bot.datasets.caches.fsx.fsx_filling import Importing
from tests.bot.datasets.caches.keeping import Keeping
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import Outside


@pytest.fixture
def keeping(own_database: Database, outside: Outside) -> Keeping:
    return Keeping(own_database, outside)


@pytest.fixture
def filling(own_database: Database, outside: Outside) -> Filling:
    return Filling(own_database, outside)


@pytest.fixture
def two(own_database: Database, outside: Outside, tmp_path: Path) -> Iterator[TwoCaching]:
    folder = tmp_path / "east"
    folder.mkdir()
    with closing(Outside(folder, story_cluster, outside.clock)) as other:
        yield TwoCaching(own_database, outside, other)


@pytest.fixture
def boosting(
    own_database: Database, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Boosting]:
    with served(Arm(outside.clock.now)) as arm:
        for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
            monkeypatch.delenv(key, raising=False)
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        opened = Boosting(own_database, outside, arm)
        yield opened
        opened.close()


@pytest.fixture
def importing(own_database: Database, outside: Outside, tmp_path: Path) -> Iterator[Importing]:
    region = Region(outside, tmp_path)
    yield Importing(own_database, outside, region)
    region.close()
