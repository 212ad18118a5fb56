"""Alice trains on three nodes, gives two back and adds one again, and compares the epochs."""

from datetime import timedelta

from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

IMAGE = "--image ghcr.io/acme/lane:3.1"
ELASTIC = f"--kind elastic --nodes 1:3 --gpus 2 {IMAGE} -- python train.py --epochs 20"
_ON_EACH = timedelta(minutes=5)
_WRITES = ("patch jobs", "create services", "delete services")


async def play(story: Story) -> None:
    """The card says how many nodes run of how many it may have."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    story.allowed_writes |= set(_WRITES)
    await _wrong_words_are_explained(alice)
    wide = await submits(story, alice, "#team-a", "wide", ELASTIC)
    await is_admitted(story, wide)
    await wide.shows("3 of 3 nodes running; 1 to 3 allowed", "GPUs: 6 (2 on each of 3 nodes)")
    await story.pass_time(_ON_EACH)
    await alice.types("#team-a", "/train compare wide --by epoch")
    await alice.is_told("Epochs were timed on 3 nodes only: ", "Name a run on another number")
    await alice.types("#team-a", "/train scale wide 1")
    await alice.is_told("Scaling wide to 1 node. Its card shows the progress.")
    await wide.shows("1 of 1 node running; 1 to 3 allowed", "GPUs: 2")
    await story.pass_time(_ON_EACH)
    await alice.types("#team-a", "/train scale wide 2")
    await alice.is_told("Scaling wide to 2 nodes", "The additional nodes start together")
    await wide.shows("2 of 2 nodes running; 1 to 3 allowed")
    await alice.types("#team-a", "/train scale wide 4")
    await alice.is_told(
        "wide may have 1 to 3 nodes: it was submitted with --nodes 1:3.",
        "/train scale wide 3 is the furthest it can go.",
    )
    await ends_well(alice, "#team-a", wide, "wide")
    await alice.types("#team-a", "/train compare wide --by epoch")
    await alice.is_told("Epoch times by number of nodes", "Ideal is perfect scaling from 1 node")


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit wide --kind elastic --nodes 3:1 {IMAGE}")
    await alice.is_told("--nodes takes a number of nodes from 1 to 512", "such as 1:3, not 3:1.")
    await alice.types("#team-a", f"/train submit wide --kind elastic --efa 4 {IMAGE}")
    await alice.is_told("does not cover vpc.amazonaws.com/efa and hugepages-2Mi")
