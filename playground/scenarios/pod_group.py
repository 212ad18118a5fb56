"""Alice trains with a launcher and workers that Kueue admits as one group of pods."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(settings={"teams": {"team-a": {"admission": {"host_network": ["sync"]}}}})
COMMAND = (
    "--kind sync --form deployment --host-network --nodes 2 --gpus 6"
    " --image ghcr.io/acme/resnet:2.0 -- python train.py"
)
OBJECTS = ("secrets", "services", "deployments")


async def play(story: Story) -> None:
    """All pods get their quota at once, and the run leaves nothing but its log."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/resnet", seconds_per_epoch=30)
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in OBJECTS}
    wide = await submits(story, alice, "#team-a", "wide", COMMAND)
    await is_admitted(story, wide)
    await wide.shows("Running for", "GPUs: 12 (6 on each of 2 nodes)", "Nodes: gpu-1, gpu-2")
    for each in OBJECTS:
        await story.cluster_has(each, "team-a", "wide", count=1)
    await ends_well(alice, "#team-a", wide, "wide")
    await wide.shows("Succeeded in", "total images/sec 9748.80000")
    for each in OBJECTS:
        await story.cluster_has(each, "team-a", "wide", count=0)
