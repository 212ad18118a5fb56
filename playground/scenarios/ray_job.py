"""Alice trains on a Ray cluster of two workers; a program that fails and a stop leave nothing."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(arrange=lambda cluster, _: cluster.install("kuberay"))
RAY = "--kind rayjob --nodes 2 --gpus 1 --image ghcr.io/acme/ray:2.49"


async def play(story: Story) -> None:
    """The submitter speaks for the program, and what is left of the cluster goes."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/ray", seconds_per_epoch=60)
    story.allowed_writes |= {"create rayjobs", "delete rayjobs"}
    await alice.types("#team-a", f"/train submit tune {RAY}")
    await alice.is_told("--kind rayjob needs the program that runs on the Ray cluster.")
    tune = await submits(story, alice, "#team-a", "tune", f"{RAY} -- python tune.py --epochs 3")
    await is_admitted(story, tune)
    await tune.shows("Running for", "Kind: rayjob", "GPUs: 2 (1 on each of 2 nodes)")
    await ends_well(alice, "#team-a", tune, "tune")
    await alice.types("#team-a", "/train logs tune --tail 500")
    await alice.is_told("epoch 3/3 finished")
    await _one_fails(story)
    await _one_is_stopped(story)


async def _one_fails(story: Story) -> None:
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/broken", fails_after=20, exit_code=3)
    command = f"{RAY.replace('acme/ray', 'acme/broken')} -- python tune.py"
    broken = await submits(story, alice, "#team-a", "broken", command)
    await is_admitted(story, broken)
    await broken.shows("Failed", "Job entrypoint command failed with exit code 3.")
    await alice.is_mentioned(
        "#team-a",
        "broken failed after",
        "This was attempt 3.",
        "RuntimeError: training stopped with exit code 3",
        thread=broken,
        broadcast=True,
    )


async def _one_is_stopped(story: Story) -> None:
    alice = story.person("Alice")
    again = await submits(story, alice, "#team-a", "again", f"{RAY} -- python tune.py --epochs 9")
    await is_admitted(story, again)
    await again.shows("Running for")
    await alice.types("#team-a", "/train stop again")
    await alice.is_told("Stopping again")
    await again.shows("Stopped after")
    await alice.is_mentioned("#team-a", "again was stopped by", thread=again)
    for each in ("rayjobs", "rayclusters", "pods"):
        await story.cluster_has(each, "team-a", "again", count=0)
