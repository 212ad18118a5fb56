"""Alice runs on borrowed GPUs until team-b needs them back, and continues when they are free."""

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story


async def play(story: Story) -> None:
    """Her card says who needed the GPUs, she shares why it waits, its log is kept."""
    alice, bob = story.person("Alice"), story.person("Bob")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=25)
    story.trains("ghcr.io/acme/base", seconds_per_epoch=10)
    command = "--image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py"
    await alice.types("#team-a", "/qm notices dm --for preempted")
    await alice.is_told("(it is preempted): a direct message with a link to the card")
    wide = await submits(story, alice, "#team-a", "wide", command)
    await is_admitted(story, wide)
    await wide.shows("Running for")
    command = "--image ghcr.io/acme/base:2.0 --gpus 8 -- python serve.py"
    base = await submits(story, bob, "#team-b", "base", command)
    await story.reply(
        wide,
        "was preempted. Its GPUs were borrowed, and the team they belong to needed them back.",
        "Its output is kept: /train logs wide",
    )
    await wide.shows("It is waiting for 8 GPUs of h100")
    await alice.types("#team-a", "/train why wide")
    why = await alice.is_told("Preempted, waiting again", "It is waiting for 8 GPUs of h100")
    if why is not None:
        await alice.clicks(why, "Share")
        await story.card("#team-a", "Shared by alice.", "wide")
    await alice.is_written_to("wide was preempted.", "/train logs wide", "Its card is in #team-a.")
    await is_admitted(story, base)
    await ends_well(bob, "#team-b", base, "base")
    await is_admitted(story, wide)
    await ends_well(alice, "#team-a", wide, "wide")
