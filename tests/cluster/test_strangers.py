"""Work of operators' kinds that somebody started without the bot: a lead stops it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.story import Story
from tests.cluster.api import Object, wait_for
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kueue import FRAMEWORKS
from tests.cluster.site import WORKLOADS, Site

_QUEUED = {"kueue.x-k8s.io/queue-name": "team-a"}
_RUNTIMES = "clustertrainingruntimes.trainer.kubeflow.org"


def template(container: str) -> Object:
    requests = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    resources = {"requests": requests, "limits": {"nvidia.com/gpu": "1"}}
    body = {"name": container, "image": "ghcr.io/acme/lane:3.1", "resources": resources}
    return {"spec": {"containers": [body]}}


def runtime() -> Object:
    """A runtime of one node that runs what a TrainJob says."""
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": step, "spec": {"template": template("node")}}
    sets = {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}
    spec = {"mlPolicy": {"numNodes": 1}, "template": sets}
    return {"metadata": {"name": "plain"}, "spec": spec}


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


@pytest.fixture
def queued(plane: ControlPlane, site: Site) -> Iterator[None]:
    """A team with work of each kind in its queue; PyTorchJobs Kueue manages when told to."""
    plane.define("mpi", "training", "trainer", "jobset")
    plane.kueue.configure(integrations={"frameworks": [*FRAMEWORKS, "kubeflow.org/pytorchjob"]})
    site.add_node("gpu-1")
    site.add_flavor()
    site.add_team("4", "team-a")
    site.add(_RUNTIMES, runtime())
    for resource, spec in WORK.items():
        name = resource.partition(".")[0].removesuffix("s")
        site.api.create(
            resource, {"metadata": {"name": name, "labels": _QUEUED}, "spec": spec}, "team-a"
        )
    wait_for(lambda: len(site.api.list(WORKLOADS, "team-a")) == len(WORK), "three Workloads")
    yield
    site.close()
    plane.kueue.configure()


@pytest.mark.usefixtures("queued")
def test_leads_stop_work_that_operators_run(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            for resource in WORK:
                await _is_stopped(story, plane, resource)
            await story.ends()

    asyncio.run(play())


async def _is_stopped(story: Story, plane: ControlPlane, resource: str) -> None:
    plural = resource.partition(".")[0]
    name, erin = plural.removesuffix("s"), story.person("Erin")
    story.allowed_writes.add(f"delete {plural}")
    await erin.types("#team-a", f"/train stop {name}")
    await erin.is_told(f"{name} is being stopped. It belongs to nobody that its labels name.")
    card = await story.card("#team-a", name)
    await card.shows(f"{name} · Stopped")
    await erin.is_mentioned("#team-a", f"{name}: stopped.", thread=card)
    assert plane.api.list(resource, "team-a") == []
