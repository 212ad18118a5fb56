"""A sweep tries three batch sizes, two at a time, names the best, and another one is stopped."""

from datetime import timedelta

from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted
from playground.story.story import Story

SIZES = {"32": 410.0, "64": 905.0, "128": 702.0}
IMAGE = "--image ghcr.io/acme/lane:3.1 --gpus 1"
SWEEP = (
    f"/train submit wide {IMAGE} --sweep bs=32,64,128 --at-most 2 --metric images/sec --best max"
    " -- python train.py --epochs 2 --bs {bs}"
)
ENDLESS = f"/train submit seeds {IMAGE} --sweep seed=1,2 -- python serve.py --seed {{seed}}"


async def play(story: Story) -> None:
    """One card follows all runs; a run is submitted again; a stop asks first."""
    alice = story.person("Alice")
    for size, rate in SIZES.items():
        story.trains(f"--bs {size}", images_per_second=rate, seconds_per_epoch=30)
    story.trains("serve.py --seed", never_ends=True, silent=True)
    await alice.types("#team-a", SWEEP.replace("--bs {bs}", ""))
    await alice.is_told("Nothing in the command uses bs", "--bs {bs}", "--env BS={bs}")
    await alice.types("#team-a", SWEEP)
    await alice.is_told(
        "Submitted sweep wide for team-a.",
        "3 cells of 1 GPU each, 3 GPUs in total; at most 2 at once, 2 GPUs.",
        "/train stop wide stops it.",
    )
    card = await story.card("#team-a", "Sweep wide")
    await card.shows("Ended", "3 cells: 3 succeeded.", "Best: wide-2 with images/sec", "(bs=64)")
    await card.offers("Compare", "Curves")
    await alice.is_mentioned(
        "#team-a", "Sweep wide has ended.", "Best: wide-2", "/train compare wide", thread=card
    )
    await alice.types("#team-a", "/train compare wide")
    await alice.is_told("wide-2 and wide-3 and wide-1 side by side")
    await alice.types("#team-a", "/train logs wide-3 --tail 1")
    await alice.is_told("Log of wide-3", "Total images/sec: 702.0")
    await _is_submitted_again(story, alice)
    await card.shows("Ended", "3 cells: 3 succeeded.", "wide-2 | 64 | Succeeded")
    await _is_stopped(story, alice)


async def _is_submitted_again(story: Story, alice: Person) -> None:
    """A run of a sweep has a card of its own once people submit it again."""
    await alice.types("#team-a", "/train resubmit wide-1")
    await alice.is_told("Submitted run wide-1#2 with 1 GPU", "/train stop wide-1 stops it.")
    again = await story.card("#team-a", "wide-1#2")
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "wide-1#2")
    await alice.types("#team-a", "/train show wide")
    await alice.is_told("Sweep wide", "wide-1#2 | 32 | Succeeded")


async def _is_stopped(story: Story, alice: Person) -> None:
    await alice.types("#team-a", ENDLESS)
    await alice.is_told("Submitted sweep seeds", "2 cells of 1 GPU each")
    card = await story.card("#team-a", "Sweep seeds")
    await story.cluster_has("pods", "team-a", "seeds-2", count=1)
    await story.pass_time(timedelta(minutes=2))
    await alice.types("#team-a", "/train stop seeds")
    await alice.is_told("Stop sweep seeds?", "2 live runs of it are stopped.")
    await alice.clicks(card, "Stop", confirming="Stop sweep seeds?")
    await alice.is_told("Stopping sweep seeds: 2 runs of it are ending.")
    await card.shows("Stopped", "2 cells: 2 stopped.", "Stopped by alice")
    await card.offers("Compare")
    await alice.is_mentioned("#team-a", "Sweep seeds was stopped by alice.", thread=card)
