"""A cluster without a quota engine: first come, first served, and workers in a Deployment."""

from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

_ADMISSION = {"host_network": ["sync"]}
SETUP = Setup(
    clusters={"default": "none"},
    settings={"teams": {"team-a": {"admission": _ADMISSION}}},
)
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py"
_IMAGE = "--image ghcr.io/acme/resnet:2.0"
_SHAPE = "--kind sync --form deployment --nodes 2 --gpus 6"
_COMMAND = f"{_SHAPE} --host-network {_IMAGE} --pvc imagenet:/data:ro -- python train.py"
_BESIDE = ("secrets", "services", "deployments")


async def play(story: Story) -> None:
    """Runs start as nodes have room, and what is made for one is gone with it."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=120)
    story.trains("ghcr.io/acme/resnet", seconds_per_epoch=60)
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in _BESIDE}
    await _nobody_has_a_quota(alice)
    await _what_does_not_fit_waits(story, alice)
    await _wrong_words_are_explained(story, alice)
    resnet = await submits(story, alice, "#team-a", "resnet", _COMMAND)
    await is_admitted(story, resnet)
    await resnet.shows("GPUs: 12 (6 on each of 2 nodes)")
    for each in _BESIDE:
        await story.cluster_has(each, "team-a", "resnet", count=1)
    await ends_well(alice, "#team-a", resnet, "resnet")
    await resnet.shows("Succeeded in", "Nodes: gpu-1, gpu-2", "total images/sec 9748.80000")
    await _one_is_stopped(story, alice)


async def _nobody_has_a_quota(alice: Person) -> None:
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "no quota engine")
    await alice.types("#team-a", '/quota request +4 --for 1d --reason "CVPR deadline"')
    await alice.is_told(
        "Cluster default has no quota engine, so there is no quota to raise or lend: runs start"
        " when nodes have free capacity.",
        "A platform admin can change the ResourceQuota of namespace team-a there.",
    )


async def _what_does_not_fit_waits(story: Story, alice: Person) -> None:
    first, second = [await _running(story, alice, name) for name in ("first", "second")]
    third = await submits(story, alice, "#team-a", "third", _LANE)
    await third.shows("Pending", "No node has free capacity for it.")
    await alice.types("#team-a", "/train why third")
    await alice.is_told("No node has free capacity for it.", "It starts when other runs end")
    await ends_well(alice, "#team-a", first, "first")
    await ends_well(alice, "#team-a", second, "second")
    await is_admitted(story, third)
    await ends_well(alice, "#team-a", third, "third")


async def _running(story: Story, alice: Person, name: str) -> Card:
    card = await submits(story, alice, "#team-a", name, _LANE)
    await is_admitted(story, card)
    await card.shows("Running for")
    return card


async def _wrong_words_are_explained(story: Story, alice: Person) -> None:
    await alice.types("#team-a", f"/train submit resnet {_SHAPE} {_IMAGE} -- python train.py")
    await alice.is_told(
        "The pods of --form deployment find each other by the addresses of their nodes.",
        "Add --host-network, or leave --form out: the run then has a network of its own.",
    )
    one = _COMMAND.replace("--nodes 2", "--nodes 1")
    await alice.types("#team-a", f"/train submit resnet {one}")
    await alice.is_told("--form deployment runs a launcher on one node", "for example --nodes 2.")
    bob = story.person("Bob")
    await bob.types("#team-b", f"/train submit resnet {_COMMAND}")
    await bob.is_told("team-b may not use the host network with --kind sync.")


async def _one_is_stopped(story: Story, alice: Person) -> None:
    again = await submits(story, alice, "#team-a", "again", _COMMAND)
    await is_admitted(story, again)
    await alice.types("#team-a", "/train stop again")
    await alice.is_told("Stopping again")
    await again.shows("Stopped")
    await alice.is_mentioned("#team-a", "again was stopped by", thread=again)
    for name in ("resnet", "again"):
        for each in _BESIDE:
            await story.cluster_has(each, "team-a", name, count=0)
    await story.cluster_has("pods", "team-a", "again", count=0)
