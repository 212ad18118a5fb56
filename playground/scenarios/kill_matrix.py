"""The shortest story with every kind of effect, for killing the bot at each of them."""

from datetime import timedelta

from playground.story.steps import (
    approves,
    asks_for_gpus,
    ends_well,
    is_admitted,
    is_put_back,
    submits,
)
from playground.story.story import Story


async def play(story: Story) -> None:
    """A run from its card to its end, and an override from its request to its being put back."""
    await play_round(story, 1)


async def play_round(story: Story, number: int) -> None:
    """The story once more, under other names."""
    alice, bob, carol = (story.person(name) for name in ("Alice", "Bob", "Carol"))
    story.trains("ghcr.io/acme/quick", seconds_per_epoch=4)
    name = f"quick-{number}"
    command = "--image ghcr.io/acme/quick:1.0 --gpus 1 -- python train.py"
    run = await submits(story, bob, "#team-b", name, command)
    own, request = await asks_for_gpus(
        story,
        alice,
        f'+2 --for 1h --reason "round {number}"',
        title="Quota override for team-a: +2 h100",
        receipt="Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 1h",
    )
    await approves(story, carol, request, own)
    await is_admitted(story, run)
    await ends_well(bob, "#team-b", run, name)
    await story.pass_time(timedelta(hours=1, minutes=1))
    await is_put_back(story, request, own)
