"""A strict Slack on loopback, for digests that are posted, and the story that they tell."""

import pytest

from bot.database.database import Database
from tests.bot.gpus.digests.telling import Telling
from tests.playground.slack.conftest import stage

__all__ = ["stage"]


@pytest.fixture
def told(database: Database) -> Telling:
    return Telling(database)
