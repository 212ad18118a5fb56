"""The bot on a real control plane: its view, its requests, and a run from Slack to its end."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.cluster import labels
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, NODES, PODS, WORKLOADS
from bot.cluster.types.queues import PendingWorkload
from bot.errors import ClusterError
from bot.quotas.engines.opening import watched_with
from playground.cluster.story import GPU, cluster_queue, training_job
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.api import wait_for
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site


@pytest.fixture
def seen(plane: ControlPlane) -> Iterator[Cluster]:
    """The cluster as the bot sees it, with the bot's rights."""
    cluster = Cluster(
        "default",
        Connection.to(str(plane.bot_kubeconfig)),
        "installation-1",
        watched=watched_with("kueue"),
    )
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.usefixtures("gpus")
def test_the_view_shows_nodes_and_queues(seen: Cluster, site: Site) -> None:
    team = site.add_team("4")
    wait_for(lambda: seen.view.synced, "the first lists")
    wait_for(lambda: seen.view.get(LOCAL_QUEUES, team, team), "the LocalQueue")
    # Kinds that were defined a moment ago answer a watch with 429 until their storage is ready.
    assert "workloads.kueue.x-k8s.io" in {each.resource for each in seen.watches() if each.served}
    wait_for(lambda: not _failing(seen), "watches without an error")
    assert sorted(each.name for each in seen.view.all(NODES)) == ["gpu-1", "gpu-2"]
    assert [each.status.allocatable[GPU] for each in seen.view.all(NODES)] == [8, 8]
    queue = seen.view.get(CLUSTER_QUEUES, team)
    assert queue is not None
    assert queue.spec.cohort == "gpus"


def _failing(seen: Cluster) -> list[str]:
    return [each.error for each in seen.watches() if each.error and each.served]


@pytest.mark.usefixtures("gpus")
def test_a_job_is_followed_to_its_end(seen: Cluster, site: Site) -> None:
    team = site.add_team("4")
    body = training_job("lane", 2, queue=team, suspend=True)
    body["spec"]["template"]["metadata"] = {"labels": {labels.RUN: "run-lane"}}
    created = seen.create(JOBS, body, team)
    assert created.spec.suspend
    wait_for(lambda: seen.view.owned_by(WORKLOADS, created.uid), "the Workload")
    assert seen.view.owned_by(WORKLOADS, created.uid)[0].requested(GPU) == 2

    def pod_phase() -> str:
        pods = seen.view.labelled(PODS, labels.RUN, "run-lane")
        return pods[0].status.phase if pods else ""

    wait_for(lambda: pod_phase() == "Succeeded", "the pod's success")


@pytest.mark.usefixtures("gpus")
def test_who_waits_has_a_place_in_the_queue(seen: Cluster, site: Site) -> None:
    team = site.add_team("4")
    seen.create(JOBS, training_job("lane", 16, queue=team, suspend=True), team)
    places = wait_for(lambda: _waiting(seen, team), "the place in the queue")
    assert [(each.position_in_cluster_queue, each.local_queue_name) for each in places] == [
        (0, team)
    ]


def _waiting(seen: Cluster, team: str) -> Sequence[PendingWorkload]:
    """Who waits; nobody while Kueue, which the API server asks for it, is not ready to say."""
    try:
        return seen.pending_workloads(team)
    except ClusterError:
        return ()


@pytest.mark.usefixtures("gpus")
def test_a_run_goes_from_slack_to_its_end(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)

    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            command = "--image ghcr.io/acme/lane:3.1 --gpus 2 --env TEST_SECONDS=3s"
            card = await submits(
                story, alice, "#team-a", "lane", f"{command} -- python train.py --epochs 3"
            )
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "lane")

    asyncio.run(play())


@pytest.mark.usefixtures("gpus")
def test_a_ray_run_is_admitted_and_stopped(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    """There is no KubeRay here, so nothing runs in between."""
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)

    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            options = "--kind rayjob --nodes 2 --gpus 1 --image ghcr.io/acme/ray:2.49"
            card = await submits(story, alice, "#team-a", "tune", f"{options} -- python tune.py")
            await is_admitted(story, card)
            await alice.types("#team-a", "/train stop tune")
            await alice.is_told("Stopping tune")
            await alice.is_mentioned("#team-a", "tune was stopped by", thread=card)

    asyncio.run(play())
    assert plane.api.list("rayjobs.ray.io", "team-a") == []


@pytest.mark.usefixtures("gpus")
def test_a_run_moves_on_to_another_queue(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name, cohort=f"of-{name}")
    spot = cluster_queue("spot", "8", "spot")
    spot["spec"]["namespaceSelector"] = {}
    site.add("clusterqueues.kueue.x-k8s.io", spot)
    queue = {"metadata": {"name": "spot"}, "spec": {"clusterQueue": "spot"}}
    plane.api.create("localqueues.kueue.x-k8s.io", queue, "team-a")
    templates = {"own": {"after": "1m"}, "spot": {"queue": "spot"}}

    async def play() -> None:
        async with opened_story(plane, tmp_path, {"templates": templates}) as story:
            alice = story.person("Alice")
            options = "--image ghcr.io/acme/lane:3.1 --gpus 8 --env TEST_SECONDS=3s --on own,spot"
            card = await submits(story, alice, "#team-a", "wide", f"{options} -- python train.py")
            await story.reply(card, "Not admitted on own in", "waits on spot now")
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "wide")
            await card.shows("Template: spot, 2 of 2")

    asyncio.run(play())
