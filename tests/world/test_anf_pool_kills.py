"""The bot is killed as it creates and deletes a capacity pool; the story ends the same."""

import asyncio

import pytest

from playground.world import Options
from tests.world.telling import before_and_after, ends_same

KILLS = {
    "azure": before_and_after((("PUT capacityPools", 1), ("DELETE capacityPools", 1))),
}
IN_TWO = {
    "azure": before_and_after((("PATCH volumes", 1), ("PUT capacityPools", 1))),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pools_outlive_kills_of_the_bot(options: Options) -> None:
    asyncio.run(ends_same("anf-pools", options, KILLS))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_subscriptions_outlive_kills_of_the_bot(options: Options) -> None:
    asyncio.run(ends_same("anf-subscriptions", options, IN_TWO))
