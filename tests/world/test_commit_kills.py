"""The bot is killed at commits nobody chose, before or after each; nothing is lost or doubled."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from playground.opening import opened
from playground.scenarios import kill_matrix
from playground.slack.rates import Rates
from playground.story.story import Story
from playground.world import Options
from tests.seeds import commit_kills
from tests.world.commits import Deaths
from tests.world.telling import PATIENCE_SECONDS


async def told_amid_deaths(options: Options, deaths: Deaths) -> None:
    """Tells the story again and again until the bot has died as often as it was to."""
    async with opened(options) as world:
        world.pace.patience_seconds = 2 * PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        deaths.arrange(world)
        await world.start_bots()
        story = Story(world, unreliable=True)
        rounds = 0
        async with asyncio.TaskGroup() as together:
            dying = together.create_task(deaths.happen(world))
            while not (dying.done() and rounds):
                rounds += 1
                await kill_matrix.play_round(story, rounds)
        await story.ends()
        created = [each.about for each in world.ledger.requests if each.name == "create jobs"]
        assert len(set(created)) == rounds


def dies_at_random(options: Options, deaths: Deaths) -> None:
    asyncio.run(told_amid_deaths(options, deaths))
    print(f"seed {options.seed}: died {', '.join(deaths.at)}")  # noqa: T201  # make kills shows it
    assert len(deaths.at) == deaths.wanted
    assert {each.split()[0] for each in deaths.at} <= set(deaths.moments)


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_kills_at_random_commits_lose_nothing(
    options: Options, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance = Random(options.seed)  # noqa: S311  # repeatable
    dies_at_random(options, Deaths(tmp_path, chance, commit_kills(request.config)))


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(20_000)
def test_kills_at_commits_of_postgresql_lose_nothing(
    options: Options, tmp_path: Path, postgres_url: str, request: pytest.FixtureRequest
) -> None:
    chance, wanted = Random(options.seed), commit_kills(request.config)  # noqa: S311  # repeatable
    deaths = Deaths(tmp_path, chance, wanted, moments=("before", "amid", "after"))
    dies_at_random(replace(options, template=None, database_url=postgres_url), deaths)
