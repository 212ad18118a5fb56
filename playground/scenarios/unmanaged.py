"""Kueue does not manage Jobs here: the run is withdrawn, and its owner sees why."""

from playground.settings import Setup
from playground.story.steps import submits
from playground.story.story import Story

SETUP = Setup(kueue=False)


async def play(story: Story) -> None:
    """A Job that nobody admits would wait for ever."""
    alice = story.person("Alice")
    command = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "lane", command)
    await card.shows("Not managed by its quota engine", "Kueue did not start to manage the Job")
    await alice.is_mentioned("#team-a", "lane failed", thread=card, broadcast=True)
