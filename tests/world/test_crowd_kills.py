"""Many submit at once and the bot is killed among them: what was acknowledged holds, once."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from playground.opening import opened
from playground.settings import Setup
from playground.slack.delivery import RequestUrls
from playground.world import DATABASE, Options, World

CROWD, EACH = 6, 8
SUBMIT = "/train submit lane-{number} --image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py"


async def submitted(world: World, first: int, recorded: list[str]) -> None:
    """One of the crowd, who submits again and again as long as the bot answers."""
    for number in range(first, first + EACH):
        shown = await world.slack.slash("U0BOB", "C0TEAMB", SUBMIT.format(number=number))
        text = world.slack.text_of(shown[-1])
        if not text.startswith("Submitted run `lane-"):
            return
        recorded.append(f"lane-{number}")
        world.changes.ring()


def kept(folder: Path) -> list[str]:
    """The names of all runs in the database."""
    with closing(sqlite3.connect(folder / DATABASE)) as rows:
        return [name for (name,) in rows.execute("SELECT name FROM runs")]


async def crowd_amid_a_kill(options: Options, killed_after: int) -> None:
    """Six people submit eight runs each, as fast as they are answered."""
    async with opened(options) as world:
        await world.start_bots()
        if options.setup.settings["slack"]["transport"] == "http":
            world.slack.courier.urls = RequestUrls(*[f"{world.bot.url}/slack/events"] * 3)
        recorded: list[str] = []
        async with asyncio.TaskGroup() as crowd:
            for person in range(CROWD):
                crowd.create_task(submitted(world, person * EACH, recorded))
            await world.until(lambda: len(recorded) >= killed_after)
            await world.kill_bot()
        assert killed_after <= len(recorded) < CROWD * EACH
        names = kept(options.out)
        assert (len(names), set(recorded) - set(names)) == (len(set(names)), set())
        await world.bot.start()
        await world.until(lambda: len(created(world)) >= len(names))
        assert len(created(world)) == len(set(created(world))) == len(names)


def created(world: World) -> list[str]:
    return [each.about for each in world.ledger.requests if each.name == "create jobs"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("transport", "killed_after"), [("socket", 5), ("http", 20)])
def test_what_a_crowd_was_told_outlives_a_kill(
    options: Options, transport: str, killed_after: int
) -> None:
    limits = {"team-b": {"limits": {"live_runs": 1000}}}
    setup = Setup({"slack": {"transport": transport}, "teams": limits})
    asyncio.run(crowd_amid_a_kill(replace(options, setup=setup), killed_after))
