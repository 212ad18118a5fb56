"""A flow is saved, started again by hand, and started each hour; one start is skipped."""

from datetime import timedelta

from playground.story.steps import submits
from playground.story.story import Story

PREPARES = "--image ghcr.io/acme/prep:1.0 -- python prepare.py"
TRAINS = "--image ghcr.io/acme/lane:3.1 --gpus 1 --after prep -- python train.py"


async def play(story: Story) -> None:
    """Each start submits both runs; none is submitted while those of the last start live."""
    alice, erin = story.person("Alice"), story.person("Erin")
    story.trains("ghcr.io/acme/prep", seconds_per_epoch=20)
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=40)
    prep = await submits(story, alice, "#team-a", "prep", PREPARES)
    train = await submits(story, alice, "#team-a", "train", TRAINS)
    await alice.types("#team-a", "/train flow save nightly prep")
    await alice.is_told("Saved flow nightly of 2 runs for team-a.", "train starts after prep.")
    await alice.types("#team-a", "/train flow run nightly")
    await alice.is_told("Run prep of the flow was refused", "No run was submitted.")
    await prep.shows("Succeeded")
    await train.shows("Succeeded")
    await erin.types("#team-a", "/train flow run nightly")
    await erin.is_told("Started flow nightly for team-a: prep#2 and train#2.")
    again = await story.card("#team-a", "train#2")
    await again.shows("Succeeded")
    await alice.types("#team-a", '/train flow schedule nightly --cron "0 * * * *"')
    await alice.is_told("Flow nightly starts at", "Its runs are yours.")
    card = await story.card("#team-a", "Flow nightly")
    await card.shows("Scheduled")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=5000)
    await story.pass_time(timedelta(hours=1))
    await card.shows("prep#3, train#3")
    await story.pass_time(timedelta(hours=1))
    await card.shows("train#3 of the last start has not ended.")
    await story.reply(card, "Flow nightly was not started at", "train#3 of the last start")
    await alice.types("#team-a", "/train flow unschedule nightly")
    await alice.is_told("Flow nightly has no schedule any more.")
    await card.shows("Saved")
    await alice.types("#team-a", "/train stop train")
    await alice.is_told("Stopping train#3.")
    await (await story.card("#team-a", "train#3")).shows("Stopped")
