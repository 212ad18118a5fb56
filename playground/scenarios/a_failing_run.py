"""A run fails; its owner is mentioned in the channel, with the last lines of the log."""

from playground.story.steps import is_admitted, submits
from playground.story.story import Story


async def play(story: Story) -> None:
    """The log is there long after the pod is gone."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/broken", fails_after=8)
    command = "--image ghcr.io/acme/broken:0.1 --gpus 1 -- python train.py"
    card = await submits(story, alice, "#team-a", "broken", command)
    await is_admitted(story, card)
    await card.shows("Failed after", "Its program ended with exit code 1.")
    await card.offers("Logs", "Resubmit")
    for attempt in (1, 2):
        words = f"Attempt {attempt} of 3 failed. Its program ended with exit code 1."
        await story.reply(card, words, "It is restarting.")
    await alice.is_mentioned(
        "#team-a",
        "broken failed after",
        "RuntimeError: training stopped with exit code 1",
        thread=card,
        broadcast=True,
    )
    await alice.types("#team-a", "/train logs broken")
    await alice.is_told("RuntimeError: training stopped with exit code 1")
