"""Slack is down for an hour while a run ends; then every card shows the current state."""

from datetime import timedelta

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story


async def play(story: Story) -> None:
    """What was acknowledged before is shown after, each thing once."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=30)
    command = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "lane", command)
    await is_admitted(story, card)
    await card.shows("Running for")
    story.slack_goes_down()
    await story.time_leaps(timedelta(hours=1))
    story.slack_comes_back()
    await ends_well(alice, "#team-a", card, "lane")
