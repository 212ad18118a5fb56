"""The bot is killed at each request with which it copies files from Slack; all of them arrive."""

import asyncio
import time
from dataclasses import replace

import pytest

from playground.bucket import NAMESPACE
from playground.ledger import Fault
from playground.opening import opened
from playground.settings import Setup
from playground.slack.rates import Rates
from playground.story.story import Story
from playground.world import Options
from tests.world.telling import PATIENCE_SECONDS

FILES = {"labels.csv": b"study,label\n1,0\n", "sizes.csv": b"study,size\n1,40\n"}
REQUESTS = (
    *("conversations.replies", "files.info", "users.info", "file_download"),
    *("create jobs", "delete jobs"),
)


async def told_amid_kills(options: Options) -> None:
    """Saves files once for each request, before and after which the bot dies."""
    async with opened(options) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        # A bot that is killed all the time does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        story = Story(world, unreliable=True)
        story.allowed_writes |= {"create jobs", "delete jobs"}
        for request in REQUESTS:
            await _is_saved(story, request)
        await story.ends()
        assert world.kills == 2 * len(REQUESTS)


async def _is_saved(story: Story, request: str) -> None:
    world, alice = story.world, story.person("Alice")
    name = request.replace(" ", "-").replace(".", "-").replace("_", "-")
    target = f"s3://lake/{name}/"
    dropped = await alice.drops("#team-a", FILES)
    link = f"https://acme.slack.com/archives/C0TEAMA/p{dropped.message.ts.replace('.', '')}"
    world.ledger.by_name = {request: [Fault.KILL_BEFORE, Fault.KILL_AFTER]}
    await alice.types("#team-a", f"/dataset put {name} --to {target} --from {link}")
    card = await story.card("#team-a", f"Files from Slack to {target}")
    await card.shows("Pushed", "2 by MD5")
    said = f"Files from Slack were pushed to {target}: 2 files, 32 bytes."
    await alice.is_mentioned("#team-a", said, thread=card)
    version = await story.card("#team-a", f"{name}@v1")
    await version.shows("Recorded")
    recorded = f"{name}@v1 is recorded: 2 objects, 32 bytes."
    await alice.is_mentioned("#team-a", recorded, thread=version)
    await story.until(lambda: not _jobs(story), lambda: f"{_jobs(story)} are still there")
    # What comes next must not meet the bot while it starts.
    await story.rest()
    assert story.bucket.objects(f"{name}/") == FILES
    assert not any(world.ledger.by_name.values()), world.ledger.by_name


def _jobs(story: Story) -> list[str]:
    return [each for each in story.objects("jobs", NAMESPACE) if each.startswith("push-")]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_drops_outlive_kills_at_every_request(options: Options) -> None:
    asyncio.run(told_amid_kills(replace(options, setup=Setup(bucket=True))))
