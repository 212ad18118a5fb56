"""The bot is killed at each thing it does to the cluster for a cache; the story ends the same."""

import asyncio

import pytest

from playground.world import Options
from tests.world.telling import before_and_after, ends_same

_CREATE, _DELETE = "create persistentvolumeclaims", "delete persistentvolumeclaims"
# Jobs of surveys come first and third, and are left alone.
KILLS = {
    "claims": before_and_after(((_CREATE, 1), (_CREATE, 3), (_DELETE, 1))),
    "jobs": before_and_after(
        (("create jobs", 2), ("delete jobs", 2), ("create jobs", 5), ("delete jobs", 5))
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cache_outlives_kills_at_every_request(options: Options) -> None:
    asyncio.run(ends_same("dataset-cache", options, KILLS))
