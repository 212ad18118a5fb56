"""The bot is killed a hundred times at moments nobody chose; nothing is lost, nothing doubled."""

import asyncio
import time
from dataclasses import replace
from functools import partial

import pytest

from playground.opening import opened
from playground.scenarios import kill_matrix
from playground.slack.rates import Rates
from playground.story.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS, side_by_side, told

WORLDS, KILLS_EACH = 2, 50
LIVES_SECONDS = (0.2, 1.5)


async def killed_at_random(world: World) -> None:
    """Kills the bot again and again, each time a little after it was ready."""
    for _ in range(KILLS_EACH):
        await world.changes.pass_by(world.random.uniform(*LIVES_SECONDS))
        await world.kill_bot()
        await world.bot.start()


async def told_amid_kills(options: Options) -> int:
    """Tells the story again and again until all kills are done; how often it was told."""
    async with opened(options) as world:
        world.pace.patience_seconds = 2 * PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        story = Story(world, unreliable=True)
        rounds = 0
        async with asyncio.TaskGroup() as together:
            killer = together.create_task(killed_at_random(world))
            while not (killer.done() and rounds):
                rounds += 1
                await kill_matrix.play_round(story, rounds)
        await story.ends()
        created = {r.about for r in world.ledger.requests if r.name == "create jobs"}
        assert (len(created), world.kills) == (rounds, KILLS_EACH)
        return rounds


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_hundred_random_kills_lose_and_double_nothing(options: Options) -> None:
    works = [
        (
            f"seed {seed}",
            partial(told_amid_kills, replace(options, out=options.out / f"{seed}", seed=seed)),
        )
        for seed in range(WORLDS)
    ]
    ends = asyncio.run(side_by_side(works, WORLDS))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
