"""The database is lost while much goes on; a new one adopts it, and all ends as it should."""

import asyncio
from datetime import timedelta

import pytest

from playground.opening import opened
from playground.story.story import Story
from playground.world import DATABASE, Options, World
from tests.patience import patient
from tests.world.telling import PATIENCE_SECONDS
from tests.world.test_backups import cards, lives, quartermaster


async def loses_its_database(world: World) -> None:
    """The server stops, and a database that was never used takes the place of the old one."""
    await world.bot.stop()
    for path in world.bot.config.parent.glob(f"{DATABASE}*"):
        path.unlink()
    await world.bot.migrate()


def nominal(world: World) -> str:
    """The nominal quota of team-a in GPUs."""
    queue = world.cluster.get("clusterqueues", "team-a")
    assert queue is not None
    rows = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    (gpu,) = (each for each in rows if each["name"] == "nvidia.com/gpu")
    return str(gpu["nominalQuota"])


async def is_adopted(world: World) -> None:
    """What lives is shown first, and then adopted; twice, as after an interruption."""
    shown = await quartermaster(world, "adopt")
    assert "\nRuns to adopt:\n  lane of team-a: Job team-a/lane-" in shown
    assert ", nominalQuota of nvidia.com/gpu (h100): 6 → 4 at " in shown
    assert shown.endswith("run it again with --yes.\n")
    for _ in range(2):
        printed = await quartermaster(world, "adopt", "--yes")
        assert printed.endswith("The database is ready. Start the server.\n")


async def ends_as_it_should(story: Story) -> None:
    world, alice = story.world, story.person("Alice")
    adopted = await story.card("#team-a", "lane", "Running for")
    await story.reply(adopted, "lane goes on under a new database.")
    await story.pass_time(timedelta(minutes=50))
    assert nominal(world) == "6"
    await story.pass_time(timedelta(hours=3))
    assert nominal(world) == "4"
    await adopted.shows("Succeeded in 30m")
    await alice.is_mentioned("#team-a", "lane succeeded after", thread=adopted)


async def tell(world: World) -> None:
    world.pace.patience_seconds = PATIENCE_SECONDS
    await world.start_bots()
    story = Story(patient(world))
    await lives(story, seconds_per_epoch=1800)
    await loses_its_database(world)
    await is_adopted(world)
    begun = len(world.ledger.requests)
    await world.bot.start()
    await ends_as_it_should(story)
    assert len(cards(world, "lane")) == 2
    effects = [each.name for each in world.ledger.requests[begun:]]
    assert effects.count("patch clusterqueues") == 1
    assert not {"create jobs", "delete jobs"} & set(effects)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_world_outlives_its_lost_database(options: Options) -> None:
    async def play() -> None:
        async with opened(options) as world:
            await tell(world)

    asyncio.run(play())
