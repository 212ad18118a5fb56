"""A rig whose GPUs can be looked at."""

import pytest

from bot.database.database import Database
from tests.bot.gpus.rig import Sampled
from tests.bot.ground import Outside
from tests.bot.training.rig import settings


@pytest.fixture
def sampled(own_database: Database, outside: Outside) -> Sampled:
    return Sampled(own_database, outside, settings())
