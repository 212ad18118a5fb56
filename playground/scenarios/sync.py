"""Alice trains on two nodes without an operator; the keys of the run are deleted with it."""

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

_ADMISSION = {"images": ["ghcr.io/acme/*"]}
SETUP = Setup(settings={"teams": {"team-a": {"admission": _ADMISSION}}})
IMAGE = "--image ghcr.io/acme/resnet:2.0"
COMMAND = f"--kind sync --nodes 2 --gpus 6 {IMAGE} --pvc imagenet:/data:ro -- python train.py"
BESIDE = ("secrets", "services")


async def play(story: Story) -> None:
    """Launcher and workers are one Job: they begin, end and are stopped together."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/resnet", seconds_per_epoch=60)
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in BESIDE}
    await _wrong_words_are_explained(alice)
    resnet = await submits(story, alice, "#team-a", "resnet", COMMAND)
    await is_admitted(story, resnet)
    await resnet.shows("Running for", "GPUs: 12 (6 on each of 2 nodes)", "Nodes: gpu-1, gpu-2")
    for each in BESIDE:
        await story.cluster_has(each, "team-a", "resnet", count=1)
    await ends_well(alice, "#team-a", resnet, "resnet")
    await resnet.shows("Succeeded in", "total images/sec 9748.80000")
    await _one_is_stopped(story, alice)


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit resnet --form deployment {COMMAND}")
    await alice.is_told(
        "--form deployment of --kind sync would be admitted in two parts",
        "Leave --form out: launcher and workers are then one Job, admitted as a whole.",
    )
    await alice.types("#team-a", f"/train submit resnet --kind sync --nodes 2 {IMAGE}")
    await alice.is_told("--kind sync needs the command that runs on every node.")
    await alice.types("#team-a", f"/train submit resnet --host-network {COMMAND}")
    await alice.is_told("team-a may not use the host network with --kind sync.")
    other = COMMAND.replace("ghcr.io/acme", "docker.io/evil")
    await alice.types("#team-a", f"/train submit resnet {other}")
    await alice.is_told(
        "team-a may not run the image docker.io/evil/resnet:2.0.", "It may run: ghcr.io/acme/"
    )


async def _one_is_stopped(story: Story, alice: Person) -> None:
    again = await submits(story, alice, "#team-a", "again", COMMAND)
    await is_admitted(story, again)
    await again.shows("Running for")
    await alice.types("#team-a", "/train stop again")
    await alice.is_told("Stopping again")
    await again.shows("Stopped after")
    await alice.is_mentioned("#team-a", "again was stopped by", thread=again)
    for name in ("resnet", "again"):
        for each in BESIDE:
            await story.cluster_has(each, "team-a", name, count=0)
    await story.cluster_has("pods", "team-a", "again", count=0)
