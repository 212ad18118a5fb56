"""Alice trains on three nodes, gives two back and takes one again, as a TrainJob cannot."""

from playground.person import Person
from playground.scenes import ends_well, is_admitted, submits
from playground.settings import Setup
from playground.story import Story

SETUP = Setup(arrange=lambda cluster, _: cluster.install("trainer"))
IMAGE = "--image ghcr.io/acme/lane:3.1"
ELASTIC = f"--kind elastic --nodes 1:3 --gpus 2 {IMAGE} -- python train.py --epochs 10"
TRAIN_JOB = f"--kind elastic --form trainjob --nodes 2 --gpus 1 {IMAGE} -- python train.py"
_WRITES = ("patch jobs", "create services", "delete services")


async def play(story: Story) -> None:
    """The card says how many nodes run of how many; what cannot be done is offered otherwise."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=120)
    story.allowed_writes |= {*_WRITES, "create trainjobs", "delete trainjobs"}
    await _wrong_words_are_explained(alice)
    wide = await submits(story, alice, "#team-a", "wide", ELASTIC)
    await is_admitted(story, wide)
    await wide.shows("3 of 3 nodes run; it may have 1 to 3", "GPUs: 6 (2 on each of 3 nodes)")
    await alice.types("#team-a", "/train scale wide 1")
    await alice.is_told("wide goes on with 1 node; its card shows how far it is.")
    await wide.shows("1 of 1 node runs; it may have 1 to 3", "GPUs: 2")
    await alice.types("#team-a", "/train scale wide 2")
    await alice.is_told("wide goes on with 2 nodes", "Further nodes start together")
    await wide.shows("2 of 2 nodes run; it may have 1 to 3")
    await alice.types("#team-a", "/train scale wide 4")
    await alice.is_told(
        "wide may have 1 to 3 nodes: it was submitted with --nodes 1:3.",
        "/train scale wide 3 is as far as it goes.",
    )
    await ends_well(alice, "#team-a", wide, "wide")
    await _a_train_job_starts_anew(story, alice)


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit wide --kind elastic --nodes 3:1 {IMAGE}")
    await alice.is_told("--nodes takes a number of nodes from 1 to 512", "such as 1:3, not 3:1.")
    await alice.types("#team-a", f"/train submit wide --kind elastic --efa 4 {IMAGE}")
    await alice.is_told("does not cover vpc.amazonaws.com/efa and hugepages-2Mi")
    command = f"--kind elastic --form trainjob --nodes 1:2 {IMAGE}"
    await alice.types("#team-a", f"/train submit wide {command}")
    await alice.is_told("with --form trainjob keep the nodes they start with")


async def _a_train_job_starts_anew(story: Story, alice: Person) -> None:
    fixed = await submits(story, alice, "#team-a", "fixed", TRAIN_JOB)
    await is_admitted(story, fixed)
    await fixed.shows("Running for")
    await alice.types("#team-a", "/train scale fixed 3")
    offer = await alice.is_told("A TrainJob keeps the nodes it starts with.")
    if offer is None:
        return
    await alice.clicks(offer, "Stop and resubmit with 3 nodes", confirming="Stop fixed?")
    await alice.is_told("Once it has ended it starts again on 3 nodes.")
    await fixed.shows("Stopped after")
    await alice.is_mentioned("#team-a", "It starts again on 3 nodes.", thread=fixed)
    await story.reply(fixed, "Started again as fixed#2.")
    again = await story.card("#team-a", "fixed#2")
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "fixed#2")
    await again.shows("GPUs: 3 (1 on each of 3 nodes)")
