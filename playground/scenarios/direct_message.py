"""Alice sends the bot direct messages: each is answered once, and her run's card is there."""

from playground.story.steps import is_admitted
from playground.story.story import Story

SUBMIT = "train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"


async def play(story: Story) -> None:
    """Questions and a run by direct messages, with a mention in one and an edit of another."""
    alice, dan = story.person("Alice"), story.person("Dan")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    await alice.writes("train list")
    await alice.is_told("Runs of team-a", "There are no runs.")
    await alice.writes("good morning")
    await alice.is_told("There is no command", "good")
    await alice.writes(SUBMIT)
    await alice.is_told("Submitted run lane with 2 GPUs")
    card = await alice.is_written_to("lane")
    await is_admitted(story, card)
    await card.shows("Running for")
    story.world.slack.faults.mentions_in_direct_messages = True
    message = await alice.writes("@quartermaster train list")
    await alice.is_told("lane", "Running")
    await story.world.slack.rewrite(alice.id, message, "@quartermaster train stop lane")
    await dan.writes("train list")
    await dan.is_told("Checking who you are")
    await card.shows("Succeeded in")
    await story.reply(card, "lane succeeded")
