"""In the thread of a card, `logs`, `why` and `stop` need no name: they are about that run."""

from playground.story.steps import is_admitted, submits
from playground.story.story import Story

COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 90"


async def play(story: Story) -> None:
    """Two runs, each asked about in its own thread; Erin looks for the wrong word."""
    alice, erin = story.person("Alice"), story.person("Erin")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    lane = await submits(story, alice, "#team-a", "lane", COMMAND)
    await is_admitted(story, lane)
    other = await submits(story, alice, "#team-a", "other", COMMAND)
    await is_admitted(story, other)
    await lane.shows("Running for", "epoch")
    await other.shows("Running for")
    await alice.mentions("#team-a", "logs --tail 3", thread=lane)
    await alice.is_told("Log of lane", "epoch")
    await erin.mentions("#team-a", "log", thread=lane)
    await erin.is_told("There is no command @Quartermaster log", "Did you mean", "about lane:")
    await alice.mentions("#team-a", "why", thread=other)
    await alice.is_told("other · Running for", "Nothing is blocking it.")
    await alice.mentions("#team-a", "stop", thread=other)
    await alice.is_told("Stopping other.", "train resubmit other starts it again")
    await other.shows("Stopped")
    await story.reply(other, "stopped")
    await alice.mentions("#team-a", "compare other", thread=lane)
    await alice.is_told("lane", "other")
    await lane.shows("Running for")
    await alice.mentions("#team-a", "stop", thread=lane)
    await alice.is_told("Stopping lane.")
    await lane.shows("Stopped")
    await story.reply(lane, "stopped")
