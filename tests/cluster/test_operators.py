"""Work of operators' kinds under Kueue: the bot's own, and what somebody started without it.

The operators themselves do not run; their kinds are defined, and Kueue manages them.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.story.person import Card
from playground.story.steps import is_admitted, submits
from playground.story.story import Story
from tests.cluster.api import Object, wait_for
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kueue import FRAMEWORKS
from tests.cluster.scenery import RUNTIMES, runtime, template
from tests.cluster.site import WORKLOADS, Site

_QUEUED = {"kueue.x-k8s.io/queue-name": "team-a"}


def of_mpi() -> Object:
    roles = {role: {"replicas": 1, "template": template("main")} for role in ("Launcher", "Worker")}
    return {"mpiReplicaSpecs": roles}


WORK = {
    "mpijobs.kubeflow.org": of_mpi(),
    "pytorchjobs.kubeflow.org": {
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template("pytorch")}}
    },
    "trainjobs.trainer.kubeflow.org": {"runtimeRef": {"name": "plain"}},
}


@pytest.fixture(scope="module")
def operators(plane: ControlPlane) -> Iterator[Site]:
    """A team whose Kueue manages each kind; PyTorchJobs it does when it is told to."""
    plane.kueue.configure(integrations={"frameworks": [*FRAMEWORKS, "kubeflow.org/pytorchjob"]})
    site = Site(plane.api)
    site.add_node("gpu-1")
    site.add_flavor()
    site.add_team("6", "team-a")
    for name in ("plain", "torch-distributed"):
        site.add(RUNTIMES, runtime(name))
    yield site
    site.close()
    plane.kueue.configure()


@pytest.fixture
def emptied(operators: Site) -> Iterator[Site]:
    yield operators
    operators.empty("team-a")


@pytest.fixture
def strangers(emptied: Site) -> None:
    """Work of each kind in the team's queue."""
    site = emptied
    for resource, spec in WORK.items():
        name = resource.partition(".")[0].removesuffix("s")
        site.api.create(
            resource, {"metadata": {"name": name, "labels": _QUEUED}, "spec": spec}, "team-a"
        )
    wait_for(lambda: len(site.api.list(WORKLOADS, "team-a")) == len(WORK), "three Workloads")


@pytest.mark.usefixtures("strangers")
def test_leads_stop_work_that_operators_run(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            for resource in WORK:
                await _is_stopped(story, plane, resource)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("emptied")
@pytest.mark.parametrize(
    ("resource", "options"),
    [
        ("mpijobs.kubeflow.org", "--kind mpi --nodes 2"),
        ("trainjobs.trainer.kubeflow.org", "--kind elastic --form trainjob --nodes 2"),
    ],
)
def test_runs_of_operators_are_admitted_and_stopped(
    resource: str, options: str, plane: ControlPlane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            card = await _submits(story, resource, f"{options} --gpus 1")
            await is_admitted(story, card)
            await _stops(story, card)
            assert plane.api.list(resource, "team-a") == []
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("emptied")
def test_a_pytorch_job_that_waits_takes_fewer_nodes(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            story.trains("ghcr.io/acme/base", never_ends=True)
            command = "--image ghcr.io/acme/base:2.0 --gpus 2 -- python serve.py"
            base = await submits(story, alice, "#team-a", "base", command)
            await is_admitted(story, base)
            command = "--kind elastic --form pytorchjob --nodes 1:3 --gpus 2"
            card = await _submits(story, "pytorchjobs.kubeflow.org", command)
            await card.shows("Pending", "It is waiting for 6 GPUs of h100; 4 can be used now")
            story.allowed_writes.add("patch pytorchjobs")
            await alice.types("#team-a", "/train scale lane 2")
            await alice.is_told("Scaling lane to 2 nodes. Its card shows the progress.")
            await is_admitted(story, card)
            await _stops(story, card)
            await story.ends()

    asyncio.run(play())


async def _submits(story: Story, resource: str, options: str) -> Card:
    plural = resource.partition(".")[0]
    story.allowed_writes |= {f"create {plural}", f"delete {plural}"}
    story.allowed_writes |= {"create secrets", "delete secrets"} if plural == "mpijobs" else set()
    command = f"{options} --image ghcr.io/acme/lane:3.1 -- python train.py"
    return await submits(story, story.person("Alice"), "#team-a", "lane", command)


async def _stops(story: Story, card: Card) -> None:
    alice = story.person("Alice")
    await alice.types("#team-a", "/train stop lane")
    await alice.is_told("Stopping lane")
    await card.shows("Stopped")
    await alice.is_mentioned("#team-a", "lane was stopped by alice", thread=card)


async def _is_stopped(story: Story, plane: ControlPlane, resource: str) -> None:
    plural = resource.partition(".")[0]
    name, erin = plural.removesuffix("s"), story.person("Erin")
    story.allowed_writes.add(f"delete {plural}")
    await erin.types("#team-a", f"/train stop {name}")
    await erin.is_told(f"Stopping {name}. Its labels name no owner.")
    card = await story.card("#team-a", name)
    await card.shows(f"{name} · Stopped")
    await erin.is_mentioned("#team-a", f"{name}: stopped.", thread=card)
    assert plane.api.list(resource, "team-a") == []
