"""Slack's menus start a run, and show, stop, compare and change the run of a card."""

from playground.story.steps import is_admitted
from playground.story.story import Story


async def play(story: Story) -> None:
    """Alice starts a run from the menu beside the text box, and uses the menus of its card."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    await alice.uses("Submit training")
    form = await alice.is_asked("/train submit")
    await form.is_sent(
        name="lane",
        image="ghcr.io/acme/lane:3.1",
        gpus="2",
        command="python train.py --epochs 90",
        more_options="--env LR=0.1",
    )
    await alice.is_written_to("Submitted run lane with 2 GPUs")
    lane = await story.card("@alice", "lane")
    await is_admitted(story, lane)
    await lane.shows("Running for", "epoch")
    await alice.uses("Show log", lane)
    await alice.is_told("Log of lane", "epoch")
    await alice.uses("Resubmit with changes", lane)
    again = await alice.is_asked("/train submit")
    await again.is_refused("lane has not ended")
    await again.is_sent(name="faster", more_options="--env LR=0.2")
    await alice.is_written_to("Submitted run faster with 2 GPUs")
    faster = await story.card("@alice", "faster")
    await is_admitted(story, faster)
    await faster.shows("Running for")
    await alice.uses("Compare runs", lane)
    compared = await alice.is_asked("/train compare")
    await compared.is_sent(runs=["lane", "faster"])
    await alice.is_written_to("lane", "faster")
    for card in (lane, faster):
        await alice.uses("Stop run", card)
        stop = await alice.is_asked("/train stop")
        await stop.is_sent()
        await alice.is_written_to("Stopping")
        await card.shows("Stopped")
        await story.reply(card, "stopped")
