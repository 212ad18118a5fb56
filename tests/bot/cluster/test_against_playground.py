"""The edge against a whole API: what is asked here is what areas ask, end to end."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from bot.cluster import labels
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    JOBS,
    LOCAL_QUEUES,
    NAMESPACES,
    NODES,
    PODS,
    PVCS,
    RESOURCE_FLAVORS,
    SECRETS,
    SERVICE_ACCOUNTS,
    WORKLOADS,
)
from bot.cluster.types.objects import has_condition
from bot.errors import ClusterError
from bot.quotas.engines.opening import watched_with
from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster as World
from playground.cluster.story import story_cluster
from tests.bot.cluster.api.api_server import eventually

GPU = "nvidia.com/gpu"
TOKEN = "the-bot"  # noqa: S105 - opens nothing but a test's own server
EVERYTHING = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
QUOTA = "/spec/resourceGroups/0/flavors/0/resources/2"


def job(name: str, gpus: int) -> dict[str, object]:
    """A run's Job as training makes it."""
    resources = {
        "requests": {"cpu": "8", "memory": "64Gi", GPU: str(gpus)},
        "limits": {GPU: str(gpus)},
    }
    ours = {labels.RUN: f"run-{name}"}
    return {
        "metadata": {"name": name, "labels": {labels.QUEUE_NAME: "team-a", **ours}},
        "spec": {
            "suspend": True,
            "template": {
                "metadata": {"labels": ours},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "lane:3.1", "resources": resources}],
                },
            },
        },
    }


@pytest.fixture
def world() -> Iterator[World]:
    running = story_cluster(VirtualClock())
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(running.start(), loop).result(10)
    try:
        yield running
    finally:
        asyncio.run_coroutine_threadsafe(running.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def older_kueue(world: World) -> None:
    world.serve_kueue("v1beta1")


@pytest.fixture
def cluster(world: World, tmp_path: Path) -> Iterator[Cluster]:
    world.admit_bot(TOKEN, EVERYTHING)
    world.write_kubeconfig(tmp_path / "kubeconfig", TOKEN)
    cluster = Cluster(
        "default",
        Connection.to(str(tmp_path / "kubeconfig")),
        "installation-1",
        watched=watched_with("kueue"),
    )
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def test_the_view_shows_the_whole_story(cluster: Cluster) -> None:
    eventually(lambda: cluster.view.synced)
    assert [each.error for each in cluster.watches() if each.error and each.served] == []
    assert {each.name for each in cluster.view.all(CLUSTER_QUEUES)} == {"team-a", "team-b"}
    assert {each.name for each in cluster.view.all(LOCAL_QUEUES, "team-a")} == {"team-a"}
    gpus = [each.status.allocatable[GPU] for each in cluster.view.all(NODES)]
    assert gpus == [8, 8]


def test_a_run_is_followed_to_its_pod(cluster: Cluster) -> None:
    created = cluster.create(JOBS, job("lane", 2), "team-a")
    assert created.spec.suspend
    assert created.spec.template.spec.requested(GPU) == 2
    eventually(lambda: cluster.view.owned_by(WORKLOADS, created.uid))
    workload = cluster.view.owned_by(WORKLOADS, created.uid)[0]
    assert workload.job_uid == created.uid
    assert workload.requested(GPU) == 2
    eventually(lambda: cluster.view.labelled(PODS, labels.RUN, "run-lane"))
    pod = cluster.view.labelled(PODS, labels.RUN, "run-lane")[0]
    assert cluster.get(PODS, pod.name, "team-a") is not None


def test_a_name_is_taken_once(cluster: Cluster) -> None:
    cluster.create(JOBS, job("lane", 1), "team-a")
    with pytest.raises(ClusterError) as caught:
        cluster.create(JOBS, job("lane", 1), "team-a")
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")


def test_deleting_names_one_object_and_no_other(cluster: Cluster) -> None:
    created = cluster.create(JOBS, job("lane", 1), "team-a")
    assert not cluster.delete(JOBS, "lane", "team-a", uid="another")
    assert cluster.get(JOBS, "lane", "team-a") is not None
    assert cluster.delete(JOBS, "lane", "team-a", uid=created.uid)
    eventually(lambda: cluster.get(JOBS, "lane", "team-a") is None)
    assert not cluster.delete(JOBS, "lane", "team-a", uid=created.uid)


def test_what_does_not_exist_is_none(cluster: Cluster) -> None:
    assert cluster.get(JOBS, "none", "team-a") is None
    assert cluster.get(CLUSTER_QUEUES, "none") is None
    assert cluster.get(NAMESPACES, "none") is None


def test_a_quota_changes_only_from_what_was_seen(cluster: Cluster) -> None:
    queue = cluster.get(CLUSTER_QUEUES, "team-a")
    assert queue is not None
    seen = queue.spec.resource_groups[0].flavors[0].resources[2]
    assert (seen.name, seen.nominal_quota.raw) == (GPU, "4")
    change: list[dict[str, object]] = [
        {"op": "test", "path": f"{QUOTA}/name", "value": GPU},
        {"op": "test", "path": f"{QUOTA}/nominalQuota", "value": seen.nominal_quota.raw},
        {"op": "replace", "path": f"{QUOTA}/nominalQuota", "value": "12"},
    ]
    changed = cluster.patch_json(CLUSTER_QUEUES, "team-a", change)
    assert str(changed.spec.resource_groups[0].flavors[0].resources[2].nominal_quota) == "12"
    with pytest.raises(ClusterError) as caught:
        cluster.patch_json(CLUSTER_QUEUES, "team-a", change)
    assert caught.value.status in {409, 422}


def test_a_workload_that_is_made_inactive_ends(cluster: Cluster) -> None:
    created = cluster.create(JOBS, job("lane", 1), "team-a")
    eventually(lambda: cluster.view.owned_by(WORKLOADS, created.uid))
    name = cluster.view.owned_by(WORKLOADS, created.uid)[0].name
    cluster.patch_merge(WORKLOADS, name, {"spec": {"active": False}}, "team-a")

    def evicted() -> bool:
        workload = cluster.view.get(WORKLOADS, name, "team-a")
        return workload is not None and has_condition(workload.status.conditions, "Evicted")

    eventually(evicted)


def test_who_waits_has_a_place_in_the_queue(cluster: Cluster) -> None:
    cluster.create(JOBS, job("first", 16), "team-a")
    cluster.create(JOBS, job("second", 16), "team-a")
    eventually(lambda: len(cluster.pending_workloads("team-a")) == 2)
    places = cluster.pending_workloads("team-a")
    assert [each.position_in_cluster_queue for each in places] == [0, 1]
    assert {each.local_queue_name for each in places} == {"team-a"}


def test_a_log_is_read_once_the_container_runs(cluster: Cluster) -> None:
    cluster.create(JOBS, job("lane", 1), "team-a")
    eventually(lambda: cluster.view.labelled(PODS, labels.RUN, "run-lane"))
    pod = cluster.view.labelled(PODS, labels.RUN, "run-lane")[0].name
    with pytest.raises(ClusterError) as caught:
        cluster.logs(pod, "team-a", container="main", tail_lines=5)
    assert (caught.value.status, caught.value.reason) == (400, "BadRequest")

    def running() -> bool:
        seen = cluster.view.get(PODS, pod, "team-a")
        return seen is not None and seen.status.phase == "Running"

    eventually(running)
    assert cluster.logs(pod, "team-a", container="main", tail_lines=5)


def test_other_objects_are_read_too(cluster: Cluster) -> None:
    claims = cluster.list(PVCS, "team-a")
    assert [each.name for each in claims] == ["imagenet", "team-a-data"]
    assert {each.name for each in cluster.list(SECRETS, "team-a")} == {"registry", "wandb"}
    assert cluster.get(SECRETS, "wandb", "team-a") is not None
    account = cluster.get(SERVICE_ACCOUNTS, "trainer", "team-a")
    assert account is not None
    assert cluster.may("patch", "kueue.x-k8s.io", "clusterqueues")
    assert cluster.server_time().tzinfo is not None
    assert cluster.served("kueue.x-k8s.io")[0] == "v1beta2"


def test_watches_that_were_cut_catch_up(cluster: Cluster, world: World) -> None:
    eventually(lambda: cluster.view.synced)
    world.faults.cut_watches()
    world.create("resourceflavors", {"metadata": {"name": "later"}, "spec": {}})
    eventually(lambda: cluster.view.get(RESOURCE_FLAVORS, "later"))


def test_watches_whose_place_was_compacted_catch_up(cluster: Cluster, world: World) -> None:
    eventually(lambda: cluster.view.synced)
    world.faults.gone_watches = 1
    world.faults.cut_watches()
    world.create("resourceflavors", {"metadata": {"name": "later"}, "spec": {}})
    eventually(lambda: world.faults.gone_watches == 0)
    eventually(lambda: cluster.view.get(RESOURCE_FLAVORS, "later"))


@pytest.mark.usefixtures("older_kueue")
def test_an_older_kueue_reads_the_same(cluster: Cluster) -> None:
    assert cluster.served("kueue.x-k8s.io") == ["v1beta1"]
    queue = cluster.get(CLUSTER_QUEUES, "team-a")
    assert queue is not None
    assert queue.spec.cohort == "gpus"
    assert queue.spec.resource_groups[0].flavors[0].resources[2].nominal_quota.raw == "4"
    eventually(lambda: cluster.view.synced)
    assert {each.name for each in cluster.view.all(CLUSTER_QUEUES)} == {"team-a", "team-b"}


def test_a_right_that_is_missing_is_named(cluster: Cluster, world: World) -> None:
    world.forbid("create", "jobs")
    assert not cluster.may("create", "batch", "jobs", namespace="team-a")
    assert cluster.may("delete", "batch", "jobs", namespace="team-a")
    with pytest.raises(ClusterError) as caught:
        cluster.create(JOBS, job("lane", 1), "team-a")
    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")
    assert caught.value.message.startswith(
        "Creating Job lane in namespace team-a on cluster default: 403 Forbidden: jobs.batch"
    )
