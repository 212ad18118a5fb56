"""A publisher of Home tabs, once on SQLite and once on PostgreSQL."""

from collections.abc import Iterator

import pytest

from tests.bot.slack.home.publishers import HomeRig, home_rig
from tests.playground.slack.served import Stage


@pytest.fixture
def home(stage: Stage, database_url: str) -> Iterator[HomeRig]:
    with home_rig(stage, database_url) as opened:
        yield opened
