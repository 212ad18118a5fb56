"""A run waits for another one and starts after it; a third is stopped as its predecessor fails."""

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

PREPARES = "--image ghcr.io/acme/prep:1.0 --gpus 1 --pvc standard:100Gi:/mnt -- python prepare.py"
TRAINS = "--image ghcr.io/acme/broken:0.1 --gpus 2 --after prep -- python train.py"
EVALUATES = "--image ghcr.io/acme/prep:1.0 --gpus 1 --after train -- python eval.py"


async def play(story: Story) -> None:
    """Two runs wait; neither is created before its time, and the last one never is."""
    story.allowed_writes |= {"create persistentvolumeclaims"}
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/prep", seconds_per_epoch=40)
    story.trains("ghcr.io/acme/broken", fails_after=8)
    prep = await submits(story, alice, "#team-a", "prep", PREPARES)
    await is_admitted(story, prep)
    train = await submits(story, alice, "#team-a", "train", TRAINS)
    last = await submits(story, alice, "#team-a", "eval", EVALUATES)
    await train.shows("Waiting for runs", "It waits for run prep (running) to succeed.")
    await last.shows("It waits for run train (waiting for runs) to succeed.")
    await alice.types("#team-a", "/train list")
    await alice.is_told("Waiting for prep", "Waiting for train")
    await alice.types("#team-a", "/train submit other --image ghcr.io/acme/prep:1.0 --after perp")
    await alice.is_told("team-a has no run perp.", "It has: eval, train, prep.")
    await ends_well(alice, "#team-a", prep, "prep")
    await story.reply(train, "prep has succeeded, so it starts now.")
    await is_admitted(story, train)
    await train.shows("Failed after", "Its program ended with exit code 1.")
    for attempt in (1, 2):
        await story.reply(train, f"Attempt {attempt} of 3 failed.", "It is restarting.")
    await alice.is_mentioned(
        "#team-a", "train failed after", "exit code 1", thread=train, broadcast=True
    )
    await last.shows("Stopped", "Run train, which it waited for, has failed.")
    await last.offers("Logs", "Resubmit")
    await alice.is_mentioned(
        "#team-a",
        "eval was stopped by Quartermaster before it started.",
        "/train resubmit train starts train again",
        thread=last,
    )
