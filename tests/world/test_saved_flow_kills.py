"""The bot is killed at each Job that it creates for starts of a saved flow."""

import asyncio
from dataclasses import replace

import pytest

from playground import scenarios
from playground.opening import opened
from playground.story.scenario import run_scenario
from playground.world import Options
from tests.world.telling import PATIENCE_SECONDS, before_and_after, effects

SAVED = scenarios.named("flow-saved")
# The first two are of runs that were submitted by themselves; then two starts of two runs each.
EVERY = tuple(("create jobs", turn) for turn in (3, 5, 7, 9))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_starts_of_a_flow_outlive_kills(options: Options) -> None:
    asyncio.run(_told_amid_kills(options))


async def _told_amid_kills(options: Options) -> None:
    async with opened(replace(options, setup=SAVED.setup)) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        await world.start_bots()
        world.ledger.by_turn = before_and_after(EVERY)
        await run_scenario(world, SAVED)
        assert world.kills == 2 * len(EVERY), effects(world)
