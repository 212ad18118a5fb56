"""The bot in a pod of its own image, with the rights, the volume and the Deployment of deploy/."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site
from tests.node import bot_image
from tests.node.bot_pod import BotInPod, opened_story
from tests.node.evictions import drained
from tests.node.node import Node
from tests.node.storage import CLASS
from tests.node.test_kinds import PLAIN, WRITES

# What `doctor` asks.
ASKED = {"create selfsubjectaccessreviews", "create selfsubjectreviews"}


@pytest.fixture(scope="session")
def image(nodes: list[Node]) -> None:
    """The bot's image, loaded on all nodes."""
    archive = bot_image.kept()
    if archive is None:
        pytest.skip("the bot's image is not here; `make test-node` builds it")
    for node in nodes:
        node.load(archive)


@pytest.fixture
def teams(team: str, furnished: Site) -> Iterator[None]:  # noqa: ARG001 - team-a
    """Both teams that the bot's settings name."""
    furnished.add_team("4", "team-b")
    yield
    furnished.empty("team-b")


@pytest.mark.usefixtures("teams", "image")
def test_a_bot_that_moves_loses_nothing(own: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(own, tmp_path, CLASS) as story:
            story.allowed_writes |= WRITES | ASKED
            bot, alice = story.world.bot, story.person("Alice")
            assert isinstance(bot, BotInPod)
            long = f'{PLAIN} --gpus 1 -- sh -c "echo loss 0.5; sleep 45; echo loss 0.125"'
            card = await submits(story, alice, "#team-a", "lane", long)
            await is_admitted(story, card)
            await card.shows("lane · Running", "loss 0.5")
            found = (await asyncio.to_thread(bot.run, "doctor")).splitlines()
            assert [line for line in found if line.startswith(("FAILED", "command"))] == []
            assert any("team-a" in line for line in found)
            await asyncio.to_thread(bot.roll_out)
            quick = f"{PLAIN} --gpus 1 -- python3 -c \"print('loss 0.25')\""
            second = await submits(story, alice, "#team-a", "quick", quick)
            await is_admitted(story, second)
            await ends_well(alice, "#team-a", second, "quick")
            pod = bot.wait()
            with drained(own, pod["spec"]["nodeName"], bot.pods()):
                moved = await asyncio.to_thread(bot.wait)
                assert moved["spec"]["nodeName"] != pod["spec"]["nodeName"]
                await ends_well(alice, "#team-a", card, "lane")
            await card.shows("loss 0.125")
            await story.ends()

    asyncio.run(play())
