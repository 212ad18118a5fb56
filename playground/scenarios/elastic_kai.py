"""The same on KAI Scheduler, which starts further nodes one by one as capacity allows."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(clusters={"default": "kai"})
IMAGE = "--image ghcr.io/acme/lane:3.1"
ELASTIC = f"--kind elastic --nodes 1:3 --gpus 2 {IMAGE} -- python train.py --epochs 10"


async def play(story: Story) -> None:
    """Nothing has to be enabled there, and no run has to start anew."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=120)
    story.allowed_writes |= {"patch jobs", "create services", "delete services"}
    wide = await submits(story, alice, "#team-a", "wide", ELASTIC)
    await is_admitted(story, wide)
    await wide.shows("3 of 3 nodes running; 1 to 3 allowed", "GPUs: 6 (2 on each of 3 nodes)")
    await alice.types("#team-a", "/train scale wide 1")
    await alice.is_told("Scaling wide to 1 node. Its card shows the progress.")
    await wide.shows("1 of 1 node running; 1 to 3 allowed", "GPUs: 2")
    await alice.types("#team-a", "/train scale wide 2")
    await alice.is_told("Scaling wide to 2 nodes", "KAI starts further nodes one by one")
    await wide.shows("2 of 2 nodes running; 1 to 3 allowed")
    await ends_well(alice, "#team-a", wide, "wide")
