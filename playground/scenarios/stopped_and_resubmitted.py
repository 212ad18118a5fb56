"""Alice stops a run, confirms it, and submits it again with one click."""

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story


async def play(story: Story) -> None:
    """Nobody but Alice or a lead may stop it."""
    alice, carol = story.person("Alice"), story.person("Carol")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=20)
    command = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py --epochs 1"
    card = await submits(story, alice, "#team-a", "lane", command)
    await is_admitted(story, card)
    await card.shows("Running for")
    await alice.types("#team-a", "/train submit lane " + command)
    await alice.is_told("The same command was sent here", "Do you want to do it again?")
    await alice.types("#team-a", "/train stop lnae")
    await alice.is_told("team-a has no run lnae.", "It has: lane.")
    await alice.clicks(card, "Stop", confirming="Stop lane? This frees 1 GPU.")
    await alice.is_told("Stopping lane", "/train resubmit lane starts it again.")
    await card.shows("Stopped after")
    await alice.is_mentioned("#team-a", "lane was stopped by alice", thread=card)
    await carol.types("#team-a", "/train stop lane")
    await carol.is_told("There is nothing to stop.")
    await alice.clicks(card, "Resubmit")
    await alice.is_told("Submitted run lane#2 with 1 GPU")
    again = await story.card("#team-a", "lane#2")
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "lane#2")
