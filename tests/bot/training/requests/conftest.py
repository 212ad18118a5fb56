"""Requests of costly runs, on two clusters."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.database.database import Database
from playground.cluster.story import story_cluster
from tests.bot.ground import Outside
from tests.bot.training.requests.requesting import Requesting
from tests.bot.training.templates.two_clusters import policy


@pytest.fixture
def other(tmp_path: Path, outside: Outside) -> Iterator[Outside]:
    """The second cluster, on the clock of the first."""
    folder = tmp_path / "lab"
    folder.mkdir()
    with closing(Outside(folder, story_cluster, outside.clock)) as made:
        yield made


@pytest.fixture
def requesting(own_database: Database, outside: Outside, other: Outside) -> Requesting:
    return Requesting(own_database, outside, other, policy())
