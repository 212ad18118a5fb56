"""Another company joins the team's channel while Alice's run is shown there."""

from datetime import timedelta

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py --epochs 1"
REFUSED = "This channel is shared with another company, which would see the card."


async def play(story: Story) -> None:
    """Its card goes on with Alice alone, nothing begins there, and all is as before afterwards."""
    alice, slack = story.person("Alice"), story.world.slack
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=600)
    card = await submits(story, alice, "#team-a", "lane", COMMAND)
    await is_admitted(story, card)
    await card.shows("Running for")
    slack.share("C0TEAMA")
    await story.card("#gpu-approvals", "#team-a is shared with another company")
    await alice.types("#team-a", f"/train submit other {COMMAND}")
    await alice.is_told(REFUSED)
    await alice.clicks(card, "Stop", confirming="Stop lane?")
    await alice.is_told(REFUSED)
    await alice.types("#team-a", "/train list")
    await alice.is_told("Runs of team-a", "lane")
    await story.pass_time(timedelta(minutes=5))
    await card.shows(
        "This channel is shared with another company, so this is no longer shown here."
    )
    own = await alice.is_written_to("lane", "#team-a is shared with another company")
    await own.shows("Succeeded in")
    await story.reply(own, "lane succeeded")
    slack.share("C0TEAMA", is_shared=False)
    await story.rest()
    again = await submits(story, alice, "#team-a", "other", COMMAND)
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "other")
