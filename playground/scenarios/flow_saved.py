"""A flow is saved, started again by hand, and started each hour; one start is skipped."""

from datetime import timedelta

from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
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
    await _begins(story, alice, prep, train)
    await ends_well(alice, "#team-a", train, "train")
    await erin.types("#team-a", "/train flow run nightly")
    await erin.is_told("Started flow nightly for team-a: prep#2 and train#2.")
    again = await _is_started(story, erin, "#2")
    await ends_well(erin, "#team-a", again, "train#2")
    await alice.types("#team-a", '/train flow schedule nightly --cron "0 * * * *"')
    await alice.is_told("Flow nightly starts at", "Its runs are yours.")
    card = await story.card("#team-a", "Flow nightly")
    await card.shows("Scheduled")
    await _is_skipped(story, alice, card)


async def _is_skipped(story: Story, alice: Person, card: Card) -> None:
    """The runs of one hour take longer than an hour; then the schedule is stopped."""
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=20_000)
    await story.pass_time(timedelta(hours=1))
    await card.shows("prep#3, train#3")
    train = await _is_started(story, alice, "#3")
    await story.pass_time(timedelta(hours=1))
    await card.shows("train#3 of the last start has not ended.")
    await story.reply(card, "Flow nightly was not started at", "train#3 of the last start")
    await alice.types("#team-a", "/train flow unschedule nightly")
    await alice.is_told("Flow nightly has no schedule any more.")
    await card.shows("Saved")
    await alice.types("#team-a", "/train stop train")
    await alice.is_told("Stopping train#3.")
    await train.shows("Stopped after")
    await alice.is_mentioned("#team-a", "train#3 was stopped by", thread=train)


async def _is_started(story: Story, owner: Person, number: str) -> Card:
    """Both runs of a start have cards; the first succeeds, and the second runs."""
    # The card of the other run names this one, too, and may come first.
    prep = await story.card("#team-a", f"prep{number} ·")
    train = await story.card("#team-a", f"train{number}")
    await _begins(story, owner, prep, train, number)
    return train


async def _begins(story: Story, owner: Person, prep: Card, train: Card, number: str = "") -> None:
    await is_admitted(story, prep)
    await ends_well(owner, "#team-a", prep, f"prep{number}")
    await story.reply(train, f"prep{number} has succeeded, so it starts now.")
    await is_admitted(story, train)
