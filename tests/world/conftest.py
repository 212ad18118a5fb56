"""What the stories of the tests begin with."""

import asyncio
from pathlib import Path

import pytest

from playground.bot_process import BotProcess
from playground.opening import opened
from playground.world import DATABASE, Options
from tests.forked import forked
from tests.seeds import world_seed


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that is up to date and empty, to be copied."""
    out = tmp_path_factory.mktemp("template")

    async def migrate() -> BotProcess:
        async with opened(Options(out)) as world:
            await world.bot.migrate()
            return world.bot

    asyncio.run(migrate())
    return out / DATABASE


@pytest.fixture
def options(request: pytest.FixtureRequest, template: Path, tmp_path: Path) -> Options:
    """A world in a folder of its own."""
    seed = world_seed(request.config)
    return Options(tmp_path / "world", template=template, seed=seed, launch=forked)
