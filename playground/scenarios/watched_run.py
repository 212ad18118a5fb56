"""Erin watches the run of Alice and waits for GPUs of her own; the bot tells her of both once."""

from datetime import timedelta

from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

LANE = "--image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py --epochs 3"
BASE = "--image ghcr.io/acme/base:2.0 --gpus 8 -- python serve.py --epochs 90"


async def play(story: Story) -> None:
    """She is told by direct message, although the bot dies while she waits."""
    alice, bob, erin = story.person("Alice"), story.person("Bob"), story.person("Erin")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    story.trains("ghcr.io/acme/base", seconds_per_epoch=60)
    lane = await submits(story, alice, "#team-a", "lane", LANE)
    await is_admitted(story, lane)
    await lane.shows("Running for")
    await erin.mentions("#team-a", "watch", thread=lane)
    await erin.is_told("Watching lane.", "You get a direct message when")
    await alice.types("#team-a", "/train watch lane")
    await alice.is_told("lane is your own run, so you are notified of it already.")
    await bob.types("#team-b", "/train watch lane --team team-a")
    await bob.is_told("You are not a member of team-a")
    await erin.types("#team-a", "/gpu wait 8")
    await erin.is_told("Waiting for 8 GPUs: 4 can be used now, 4 of them borrowed.")
    await story.bot_is_killed()
    await story.bot_returns()
    await ends_well(alice, "#team-a", lane, "lane")
    await erin.is_written_to("alice's run lane succeeded after", "Its card is in #team-a.")
    await erin.is_written_to("8 GPUs of h100 are free for team-a", "They are not reserved for you")
    await erin.types("#team-a", "/gpu wait 8 --type h100")
    await erin.is_told("8 GPUs of h100 are free for team-a already: 12 can be used now")
    await _waits_in_vain(story, bob, erin)


async def _waits_in_vain(story: Story, bob: Person, erin: Person) -> None:
    """What does not become free in time is told too; what is waited for can be seen and ended."""
    base = await submits(story, bob, "#team-b", "base", BASE)
    await is_admitted(story, base)
    await base.shows("Running for")
    await erin.types("#team-a", "/gpu wait 20")
    await erin.is_told("20 GPUs can never be free for team-a", "Wait for 12 or fewer.")
    await erin.types("#team-a", "/gpu wait 8 --for 10m")
    await erin.is_told("Waiting for 8 GPUs: 4 can be used now.")
    await erin.types("#team-a", "/gpu wait 6")
    await erin.is_told("Waiting for 6 GPUs")
    await erin.types("#team-a", "/gpu wait list")
    waits = await erin.is_told("Waiting for 8 GPUs for team-a", "Waiting for 6 GPUs for team-a")
    if waits is not None:
        await erin.clicks(waits, "Stop waiting for 6 GPUs")
        await erin.is_told("You no longer wait for 6 GPUs for team-a.")
    await story.pass_time(timedelta(minutes=12))
    await erin.is_written_to("8 GPUs were not free for team-a", "within 10m")
    await bob.types("#team-b", "/train stop base")
    await bob.is_told("Stopping base.")
    await base.shows("Stopped after")
    await bob.is_mentioned("#team-b", "base was stopped", thread=base)
