"""Alice trains on three nodes with the MPI operator, and stops another run halfway."""

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(arrange=lambda cluster, _: cluster.install("mpi-operator"))
LANE = "--image ghcr.io/acme/lane:3.1"
COMMAND = f"--kind mpi --nodes 3 --gpus 1 {LANE} --pvc imagenet:/data:ro -- python train.py"


async def play(story: Story) -> None:
    """The launcher speaks for all ranks, and what each node has is counted together."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    story.allowed_writes |= {"create mpijobs", "delete mpijobs", "create secrets", "delete secrets"}
    await _wrong_words_are_explained(alice)
    lane = await submits(story, alice, "#team-a", "lane", COMMAND)
    await is_admitted(story, lane)
    await lane.shows("Running for", "Kind: mpi", "GPUs: 3 (1 on each of 3 nodes)")
    await alice.types("#team-a", "/train list")
    await alice.is_told("lane | Running for", "| 3 |")
    await ends_well(alice, "#team-a", lane, "lane")
    await lane.shows("Succeeded in", "total images/sec 2437.20000")
    await alice.types("#team-a", "/train logs lane --tail 500")
    await alice.is_told("rank 0 of 3 started", "rank 2 of 3 started")
    await _one_is_stopped(story, alice)


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit lane --kind mpl {LANE} -- python train.py")
    await alice.is_told("mpi")
    await alice.types("#team-a", f"/train submit lane --nodes 3 {LANE} -- python train.py")
    await alice.is_told("--nodes does not apply to --kind job.", "--kind mpi")
    await alice.types("#team-a", f"/train submit lane --kind mpi --nodes 1:3 {LANE} -- python a.py")
    await alice.is_told("Runs of --kind mpi keep the nodes they start with", "--nodes 3")
    await alice.types("#team-a", f"/train submit lane --kind mpi --nodes 9 --gpus 8 {LANE}")
    await alice.is_told("72 GPUs exceed the limit of team-a for one run: 64.")


async def _one_is_stopped(story: Story, alice: Person) -> None:
    again = await submits(story, alice, "#team-a", "again", COMMAND)
    await is_admitted(story, again)
    await again.shows("Running for")
    await alice.types("#team-a", "/train stop again")
    await alice.is_told("Stopping again")
    await again.shows("Stopped after")
    await alice.is_mentioned("#team-a", "again was stopped by", thread=again)
    for each in ("mpijobs", "pods"):
        await story.cluster_has(each, "team-a", "again", count=0)
