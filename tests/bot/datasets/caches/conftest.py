"""Caches that are there, on SQLite and on the playground's cluster over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.arm import Arm, served
from tests.bot.datasets.caches.boosting import Boosting
from tests.bot.datasets.caches.filling import Filling
from tests.bot.datasets.caches.fsx_filling import Importing
from tests.bot.datasets.caches.keeping import Keeping
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import Outside
from tests.databases import create_tables


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield Keeping(database, outside)
    outside.close()
    database.close()


@pytest.fixture
def filling(tmp_path: Path) -> Iterator[Filling]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    yield Filling(database, outside)
    outside.close()
    database.close()


@pytest.fixture
def boosting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Boosting]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    with served(Arm(outside.clock.now)) as arm:
        for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
            monkeypatch.delenv(key, raising=False)
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        opened = Boosting(database, outside, arm)
        yield opened
        opened.close()
    outside.close()
    database.close()


@pytest.fixture
def importing(tmp_path: Path) -> Iterator[Importing]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    region = Region(outside, tmp_path)
    yield Importing(database, outside, region)
    region.close()
    outside.close()
    database.close()
