"""Alice's TrainJob keeps its number of nodes; it is stopped and starts again on more."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(arrange=lambda cluster, _: cluster.install("trainer"))
IMAGE = "--image ghcr.io/acme/lane:3.1"
FORM = "--kind elastic --form trainjob"


async def play(story: Story) -> None:
    """What cannot be done while it runs is offered otherwise."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=120)
    story.allowed_writes |= {"create trainjobs", "delete trainjobs"}
    await alice.types("#team-a", f"/train submit fixed {FORM} --nodes 1:2 {IMAGE}")
    await alice.is_told("with --form trainjob keep the nodes they start with")
    command = f"{FORM} --nodes 2 --gpus 1 {IMAGE} -- python train.py"
    fixed = await submits(story, alice, "#team-a", "fixed", command)
    await is_admitted(story, fixed)
    await fixed.shows("Running for")
    await alice.types("#team-a", "/train scale fixed 3")
    offer = await alice.is_told("A TrainJob keeps the nodes it starts with.")
    if offer is None:
        return
    await alice.clicks(offer, "Stop and resubmit with 3 nodes", confirming="Stop fixed?")
    await alice.is_told("Once it has ended, it starts again on 3 nodes.")
    await fixed.shows("Stopped after")
    await alice.is_mentioned("#team-a", "It starts again on 3 nodes.", thread=fixed)
    await story.reply(fixed, "Started again as fixed#2.")
    again = await story.card("#team-a", "fixed#2")
    await is_admitted(story, again)
    await ends_well(alice, "#team-a", again, "fixed#2")
    await again.shows("GPUs: 3 (1 on each of 3 nodes)")
