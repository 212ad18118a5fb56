"""The same on KAI Scheduler, which starts further nodes one by one as capacity allows."""

from playground.scenes import ends_well, is_admitted, submits
from playground.settings import Setup
from playground.story import Story

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
    await wide.shows("3 of 3 nodes run; it may have 1 to 3", "GPUs: 6 (2 on each of 3 nodes)")
    await alice.types("#team-a", "/train scale wide 1")
    await alice.is_told("wide goes on with 1 node; its card shows how far it is.")
    await wide.shows("1 of 1 node runs; it may have 1 to 3", "GPUs: 2")
    await alice.types("#team-a", "/train scale wide 2")
    await alice.is_told("wide goes on with 2 nodes", "KAI starts further nodes one by one")
    await wide.shows("2 of 2 nodes run; it may have 1 to 3")
    await ends_well(alice, "#team-a", wide, "wide")
