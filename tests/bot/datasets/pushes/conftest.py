"""What tests of pushes share."""

import pytest

from bot.database.database import Database
from tests.bot.datasets.pushes.pushing import Pushing
from tests.bot.ground import Outside


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Pushing:
    """Everything of pushes on a new database, with a cluster behind HTTP."""
    return Pushing(own_database, outside)
