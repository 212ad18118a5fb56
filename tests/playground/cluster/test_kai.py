"""KAI in the playground: what its statuses say, who is placed, and who is pushed out."""

from datetime import timedelta
from typing import Any

import pytest

from playground.cluster.cluster import Cluster
from playground.cluster.control.training import Training
from playground.cluster.kai_story import kai_cluster, queue
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node, training_job
from playground.ledger import Ledger
from tests.playground.cluster.served import StandingClock

GPU = "nvidia.com/gpu"


@pytest.fixture
def cluster() -> Cluster:
    return kai_cluster(StandingClock(), Ledger())


def submit(cluster: Cluster, name: str, gpus: int, team: str = "team-a", **more: Any) -> None:
    cluster.behaviours.setdefault("ghcr.io/acme/long:1", Training(never_ends=True))
    job = training_job(name, gpus, image="ghcr.io/acme/long:1", **more.get("spec", {}))
    labels = {"kai.scheduler/queue": more.get("queue", team), **more.get("labels", {})}
    job["metadata"] |= {"labels": labels, "annotations": more.get("annotations", {})}
    template = job["spec"]["template"]
    template["spec"]["schedulerName"] = "kai-scheduler"
    template["metadata"] = {"annotations": more.get("of_pods", {})}
    cluster.create("jobs", job, team)


def later(cluster: Cluster, seconds: float) -> None:
    cluster.clock.offset += timedelta(seconds=seconds)
    cluster.settle()


def group(cluster: Cluster, job: str, team: str = "team-a") -> Any:
    found = [
        each
        for each in cluster.list("podgroups", team)
        if each["metadata"]["name"].startswith(f"pg-{job}-")
    ]
    assert len(found) == 1
    return found[0]


def reason(cluster: Cluster, job: str, team: str = "team-a") -> str:
    told = group(cluster, job, team)["status"].get("schedulingConditions") or [{}]
    row: Any = told[-1]
    return row["reasons"][0]["reason"] if row else ""


def used(cluster: Cluster, name: str) -> str:
    found = cluster.get("queues", name)
    assert found is not None
    amount: str = found["status"].get("allocated", {}).get(GPU, "0")
    return amount


def pods(cluster: Cluster, job: str, team: str = "team-a") -> list[Any]:
    found = cluster.list("pods", team)
    return [each for each in found if each["metadata"]["name"].startswith(f"{job}-")]


def test_a_group_is_made_for_a_job(cluster: Cluster) -> None:
    submit(cluster, "lane", 2, labels={"ours": "1", "priorityClassName": "build"})
    later(cluster, 5)
    found = group(cluster, "lane")
    assert found["metadata"]["labels"]["ours"] == "1"
    assert found["spec"] == {"queue": "team-a", "minMember": 1, "priorityClassName": "build"}
    assert found["status"]["resourcesStatus"]["allocated"][GPU] == "2"
    assert found["metadata"]["annotations"]["kai.scheduler/last-start-timestamp"]
    assert [used(cluster, name) for name in ("team-a", "team-b", "research")] == ["2", "0", "2"]
    assert pods(cluster, "lane")[0]["status"]["phase"] == "Running"


def test_no_other_scheduler_places_its_pods(cluster: Cluster) -> None:
    submit(cluster, "lost", 2, queue="nowhere")
    later(cluster, 5)
    assert "nodeName" not in pods(cluster, "lost")[0]["spec"]
    assert reason(cluster, "lost") == "QueueDoesNotExist"


def test_what_is_idle_may_be_used(cluster: Cluster) -> None:
    submit(cluster, "wide", 8)
    submit(cluster, "more", 8)
    assert used(cluster, "team-a") == "16"
    submit(cluster, "last", 1)
    assert reason(cluster, "last") == "PodSchedulingErrors"


def test_a_limit_holds_a_queue_back(cluster: Cluster) -> None:
    cluster.patch("queues", "team-a", {"spec": {"resources": {"gpu": {"limit": 6}}}})
    submit(cluster, "lane", 4)
    submit(cluster, "more", 4)
    assert (used(cluster, "team-a"), reason(cluster, "more")) == ("4", "OverLimit")
    cluster.patch("queues", "team-a", {"spec": {"resources": {"gpu": {"limit": 8}}}})
    assert (used(cluster, "team-a"), reason(cluster, "more")) == ("8", "")


def test_without_a_limit_nothing_goes_over_quota(cluster: Cluster) -> None:
    cluster.create("queues", queue("strict", gpu={"quota": 2}))
    submit(cluster, "lane", 4, queue="strict")
    assert reason(cluster, "lane") == "OverLimit"
    submit(cluster, "small", 2, queue="strict")
    assert used(cluster, "strict") == "2"


def test_what_is_never_preempted_stays_within_quota(cluster: Cluster) -> None:
    submit(cluster, "shell", 8, labels={"priorityClassName": "build"})
    assert reason(cluster, "shell") == "NonPreemptibleOverQuota"
    submit(cluster, "train", 8)
    assert used(cluster, "team-a") == "8"


def test_quota_is_taken_back_by_deleting_pods(cluster: Cluster) -> None:
    submit(cluster, "first", 8)
    later(cluster, 10)
    submit(cluster, "second", 8, spec={"backoffLimit": 20})
    later(cluster, 10)
    before = pods(cluster, "second")[0]["metadata"]["uid"]
    submit(cluster, "base", 8, "team-b")
    later(cluster, 40)
    assert [used(cluster, name) for name in ("team-a", "team-b")] == ["8", "8"]
    notes = group(cluster, "second")["metadata"]["annotations"]
    assert (
        notes["kai.scheduler/last-eviction-timestamp"] > notes["kai.scheduler/last-start-timestamp"]
    )
    waiting = pods(cluster, "second")
    assert [each["metadata"]["uid"] != before for each in waiting] == [True]
    assert reason(cluster, "second") == "PodSchedulingErrors"
    cluster.delete("jobs", "base", "team-b")
    later(cluster, 40)
    assert used(cluster, "team-a") == "16"
    notes = group(cluster, "second")["metadata"]["annotations"]
    assert (
        notes["kai.scheduler/last-eviction-timestamp"] < notes["kai.scheduler/last-start-timestamp"]
    )


def test_borrowers_that_fit_keep_their_pods(cluster: Cluster) -> None:
    for name, gpus in (("own", 4), ("wide", 8), ("narrow", 4)):
        submit(cluster, name, gpus)
        later(cluster, 10)
    before = pods(cluster, "narrow")[0]["metadata"]["uid"]
    # Room for 8 GPUs: the newest borrower has 4, which is too little; the next has all of them.
    submit(cluster, "base", 8, "team-b")
    later(cluster, 40)
    assert [used(cluster, name) for name in ("team-a", "team-b")] == ["8", "8"]
    assert pods(cluster, "narrow")[0]["metadata"]["uid"] == before
    assert reason(cluster, "wide") == "PodSchedulingErrors"


def test_surplus_is_shared_by_weight(cluster: Cluster) -> None:
    for number in range(16):
        submit(cluster, f"a{number}", 1)
    for number in range(16):
        submit(cluster, f"b{number}", 1, "team-b")
    later(cluster, 600)
    # 4 and 8 of their own, and of 4 left one and two by weight, the last one to the heaviest.
    assert [used(cluster, name) for name in ("team-a", "team-b")] == ["5", "11"]


def test_the_smaller_part_of_shares_is_first(cluster: Cluster) -> None:
    for name in ("gpu-1", "gpu-2"):
        cluster.patch("nodes", name, {"spec": {"unschedulable": True}})
    submit(cluster, "older", 4)
    later(cluster, 10)
    for name in ("newer", "newest"):
        submit(cluster, name, 4, "team-b")
    add_node(cluster, "gpu-3", {**NODE_RESOURCES, GPU: "4"}, PRODUCT)
    later(cluster, 10)
    # One of two would fill half of the share of team-b, and the only one all of team-a's.
    assert [used(cluster, name) for name in ("team-a", "team-b")] == ["0", "4"]
    assert reason(cluster, "newer", "team-b") == ""


def test_parts_of_gpus_are_added_up(cluster: Cluster) -> None:
    for number in range(3):
        submit(cluster, f"part{number}", 0, of_pods={"gpu-fraction": "0.5"})
    assert used(cluster, "team-a") == "1500m"


def test_a_gang_starts_whole_or_not(cluster: Cluster) -> None:
    together = {"kai.scheduler/batch-min-member": "3"}
    many = {"parallelism": 3, "completions": 3}
    submit(cluster, "gang", 8, annotations=together, spec=many)
    later(cluster, 5)
    assert (used(cluster, "team-a"), len(pods(cluster, "gang"))) == ("0", 3)
    submit(cluster, "loose", 8, spec=many)
    assert used(cluster, "team-a") == "16"


POOL = {"kai.scheduler/node-pool": "a100"}


def lists(cluster: Cluster, name: str, parent: str, labels: dict[str, str]) -> None:
    """A Queue of team-a in a node pool."""
    body = queue(name, {"quota": 4, "limit": 4, "overQuotaWeight": 1}, parent)
    cluster.create("queues", body | {"metadata": {"name": name, "labels": labels}})


def test_queue_needs_parent_in_its_pool(cluster: Cluster) -> None:
    lists(cluster, "team-a-a100", "research", POOL)
    submit(cluster, "lane", 2, queue="team-a-a100", labels=POOL)
    cluster.settle()
    assert reason(cluster, "lane") == "QueueDoesNotExist"


def test_run_without_its_queues_pool_waits(cluster: Cluster) -> None:
    lists(cluster, "research-a100", "", POOL)
    lists(cluster, "team-a-a100", "research-a100", POOL)
    submit(cluster, "lane", 2, queue="team-a-a100")
    cluster.settle()
    assert reason(cluster, "lane") == "QueueDoesNotExist"
