"""How manifests are queued for KAI, and which runs it would never start."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, KAI_QUEUES
from bot.cluster.types.objects import Job
from bot.errors import UserError
from bot.quotas.engines.engine import Demand, Placement, Queue, QueueingSpec, Runs
from bot.quotas.engines.kai.queues import KaiQueues
from bot.quotas.engines.kai.runs import KaiRuns
from bot.quotas.engines.opening import watched_with
from tests.bot.cluster.api.api_server import write_kubeconfig
from tests.bot.quotas.engines.kai_objects import GPUS, node, parent, queue, seen

A = queue("team-a", {"quota": 4, "limit": -1}, 4)
TOP = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "top"}}
LOST = queue("lost", {"quota": 4, "limit": -1}, 0, parent="gone")
OLD = queue("team-a-old", {"quota": 4, "limit": -1}, 0, pool="old")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return opened(tmp_path, seen(parent(), A, TOP, LOST, OLD, nodes=(node("gpu-1"),)))


def opened(tmp_path: Path, known: KaiQueues) -> Runs:
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:9", {"token": "t"})
    connection = Connection.to(str(path))
    cluster = Cluster("default", connection, "us", watched=watched_with("kai"))
    cluster.view = known.view
    return KaiRuns(cluster, KaiQueues(known.view, GPUS))


def manifest(**spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "8", GPUS: "2"}
    container = {"name": "main", "resources": {"requests": amounts, "limits": {GPUS: "2"}}}
    template = {"metadata": {"labels": {"ours": "1"}}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "lane", "labels": {"ours": "1"}},
        "spec": {"template": template, **spec},
    }


def job(**more: Any) -> dict[str, Any]:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    policy = {"rules": [rule]}
    return manifest(suspend=True, backoffLimit=2, podFailurePolicy=policy, **more)


def test_a_job_is_dressed_for_kai(runs: Runs) -> None:
    given = job(activeDeadlineSeconds=3600)
    queued = runs.apply_queueing(given, QueueingSpec("team-a", "build", Decimal(2)))
    queueing = {"kai.scheduler/queue": "team-a", "priorityClassName": "build", "ours": "1"}
    assert queued["metadata"]["labels"] == queueing
    spec = queued["spec"]
    assert (spec.keys(), spec["backoffLimit"]) == (
        {"template", "backoffLimit", "podFailurePolicy"},
        20,
    )
    assert spec["podFailurePolicy"]["rules"][1:] == [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [143]}}
    ]
    template = spec["template"]
    assert template["metadata"]["labels"] == queueing
    assert template["spec"]["schedulerName"] == "kai-scheduler"
    assert template["spec"]["activeDeadlineSeconds"] == 3600
    assert template["spec"]["containers"][0]["resources"]["limits"] == {GPUS: "2"}
    assert given == job(activeDeadlineSeconds=3600)


def test_a_node_pool_is_a_gpu_type(runs: Runs) -> None:
    figures = tuple(
        each
        for shown in (A, queue("team-a-old", {"quota": 2}, 0, pool="old"))
        for each in seen(parent(), shown).figures()
    )
    known = Queue("team-a", figures)
    label = {"kai.scheduler/node-pool": "old"}
    assert runs.placement(known, "old") == Placement("team-a-old", label, label)
    assert runs.placement(known, "default") == Placement("team-a")


def test_run_says_node_pool_of_its_queue(tmp_path: Path) -> None:
    """Pods without the label go to the default node pool, whose scheduler has no such Queue."""
    shown = queue("sessions", {"quota": 2, "limit": 2}, 0, pool="old", parent="research-old")
    runs = opened(tmp_path, seen(parent(), shown))
    queued = runs.apply_queueing(job(), QueueingSpec("sessions"))
    marks = {
        "kai.scheduler/queue": "sessions", "kai.scheduler/node-pool": "old", "ours": "1"
    }  # fmt: skip
    assert queued["metadata"]["labels"] == marks
    assert queued["spec"]["template"]["metadata"]["labels"] == marks


def test_a_part_of_a_gpu_is_an_annotation(runs: Runs) -> None:
    template = runs.apply_queueing(job(), QueueingSpec("team-a", gpus=Decimal("0.50")))["spec"][
        "template"
    ]
    assert template["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    assert template["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "8"},
        "limits": {},
    }


def test_pods_that_need_each_other_start_together(runs: Runs) -> None:
    given = job(parallelism=3, completions=3, backoffLimitPerIndex=3)
    queued = runs.apply_queueing(given, QueueingSpec("team-a", pods=3))
    assert queued["metadata"]["annotations"] == {
        "kai.scheduler/batch-min-member": "3",
        "quartermaster.dev/attempts": "2",
    }
    assert queued["spec"]["backoffLimitPerIndex"] == 20


def test_elastic_pods_start_with_the_fewest(runs: Runs) -> None:
    given = job(parallelism=3, completions=3, backoffLimitPerIndex=3)
    del given["spec"]["backoffLimit"]
    queued = runs.apply_queueing(given, QueueingSpec("team-a", pods=3, least=1))
    assert queued["metadata"]["annotations"] == {
        "kai.scheduler/batch-min-member": "1",
        "quartermaster.dev/attempts": "9",
    }


def test_kai_lets_every_run_change_its_nodes(runs: Runs) -> None:
    assert runs.fixed(JOBS, Job()) == ""


def test_every_role_of_an_mpi_job_is_dressed(runs: Runs) -> None:
    roles = {
        name: {"replicas": 1, "template": {"spec": {"containers": [{"name": name}]}}}
        for name in ("Launcher", "Worker")
    }
    policy = {"suspend": True, "backoffLimit": 2, "activeDeadlineSeconds": 60}
    given = {
        "metadata": {"labels": {}},
        "spec": {"runPolicy": policy, "mpiReplicaSpecs": roles},
    }
    queued = runs.apply_queueing(given, QueueingSpec("team-a", pods=2))
    assert queued["spec"]["runPolicy"] == {"backoffLimit": 20}
    for role in queued["spec"]["mpiReplicaSpecs"].values():
        assert role["template"] == {
            "metadata": {"labels": {"kai.scheduler/queue": "team-a"}},
            "spec": {
                "containers": role["template"]["spec"]["containers"],
                "schedulerName": "kai-scheduler",
                "activeDeadlineSeconds": 60,
            },
        }


@pytest.mark.parametrize(
    ("demand", "sentence"),
    [
        (Demand("team-a", "team-b"), "KAI has no Queue team-b."),
        (
            Demand("team-a", "research"),
            "KAI's Queue research has child Queues, and only those accept runs.",
        ),
        (
            Demand("team-a", "top"),
            "KAI never starts anything in Queue top: it has no parent.",
        ),
        (
            Demand("team-a", "lost"),
            "KAI never starts anything in Queue lost: its parent gone is missing.",
        ),
        (
            Demand("team-a", "team-a-old"),
            (
                "KAI never starts anything in Queue team-a-old: its parent research is not in node"
                " pool old."
            ),
        ),
        (
            Demand("team-a", "team-a", priority="urgent"),
            "The cluster has no priority class urgent.",
        ),
    ],
)
def test_what_never_starts_is_refused(runs: Runs, demand: Demand, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        runs.refuse(demand)
    assert refused.value.message == sentence


def test_what_may_start_is_not_refused(runs: Runs) -> None:
    runs.refuse(Demand("team-a", "team-a", gpus=Decimal(2), priority="build"))


def test_a_priority_that_cannot_borrow_is_told(runs: Runs) -> None:
    demand = Demand("team-a", "team-a", gpus=Decimal(8), priority="build")
    assert runs.warnings(demand) == (
        (
            "With --priority build the run is never preempted, so it may use no more than the"
            " quota of its Queue, 4 GPUs. Without that priority, it may borrow."
        ),
    )
    assert runs.warnings(Demand("team-a", "team-a", gpus=Decimal(8), priority="train")) == ()


def test_unread_queues_are_no_reason_to_refuse(runs: Runs) -> None:
    assert isinstance(runs, KaiRuns)
    runs._cluster.view.store(KAI_QUEUES).synced = False
    runs.refuse(Demand("team-a", "anything"))
