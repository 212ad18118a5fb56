"""Teams on SQLite and on the playground's clusters over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from playground.cluster.kai_story import kai_cluster
from playground.cluster.story import plain_cluster
from tests.bot.ground import Outside
from tests.bot.teams.teaming import OnKai, OnNone, OnRunai, Teaming, opened_on_runai


@pytest.fixture
def teaming(own_database: Database, outside: Outside) -> Teaming:
    return Teaming(own_database, outside)


@pytest.fixture
def on_kai(own_database: Database, tmp_path: Path) -> Iterator[OnKai]:
    outside = Outside(tmp_path, kai_cluster)
    yield OnKai(own_database, outside)
    outside.close()


@pytest.fixture
def on_none(own_database: Database, tmp_path: Path) -> Iterator[OnNone]:
    outside = Outside(tmp_path, plain_cluster)
    yield OnNone(own_database, outside)
    outside.close()


@pytest.fixture
def on_runai(own_database: Database, tmp_path: Path) -> Iterator[OnRunai]:
    with opened_on_runai(own_database, tmp_path) as rig:
        yield rig
