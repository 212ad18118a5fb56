"""Alice follows the log of her run in her direct messages; the bot dies, restarts and goes on."""

import re

from playground.story.steps import is_admitted, submits
from playground.story.story import Story

COMMAND = "--image ghcr.io/acme/wide:1 --gpus 2 --kind elastic --nodes 2 -- python train.py"


async def play(story: Story) -> None:
    """One message is edited for the log, until she stops it; another one until the run ends."""
    story.allowed_writes |= {"create services", "delete services"}
    alice, bob = story.person("Alice"), story.person("Bob")
    story.trains("ghcr.io/acme/wide", epochs=8, seconds_per_epoch=60)
    card = await submits(story, alice, "#team-a", "wide", COMMAND)
    await is_admitted(story, card)
    await card.shows("Running for")
    await alice.types("#team-a", "/train logs wide --pod 7")
    await alice.is_told("wide has no log of pod 7.", "It has logs of: 0, 1. Use --pod 1.")
    await bob.types("#team-b", "/train logs wide --follow --team team-a")
    await bob.is_told("You are not a member of team-a")
    await alice.types("#team-a", "/train logs wide --pod 0 --follow")
    await alice.is_told("Following the log of wide in your direct messages, where only you see it")
    followed = await alice.is_written_to("Log of wide", "Shows the newest lines until")
    await followed.shows("epoch 1/8 step 120/400")
    await story.bot_is_killed()
    await story.bot_returns()
    # Slack's budget of edits may be used up; minutes of the log then come in one edit.
    await followed.shows(re.compile("epoch [2-7]/8 step 40/400"))
    await alice.clicks(followed, "Stop following")
    await alice.is_told("You no longer follow the log of wide.")
    await followed.shows("You stopped following it.", "/train logs wide --pod 0 --follow")
    await alice.types("#team-a", "/train logs wide --follow")
    await alice.is_told("Following the log of wide in your direct messages, where only you see it")
    again = await alice.is_written_to("Log of wide", "Shows the newest lines until")
    await card.shows("Succeeded in")
    await alice.is_mentioned("#team-a", "wide succeeded", thread=card)
    await again.shows("The run has ended.", "/train logs wide shows its log.", "Total images/sec")
