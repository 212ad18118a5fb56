"""How manifests are queued for Run:ai, which runs are refused, and what a run waits for."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, NODES, PODS, SYSTEM_PRIORITIES, Resource
from bot.cluster.types.objects import Job
from bot.errors import UserError
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked, Cause
from bot.quotas.engines.engine import Demand, Placement, QueueingSpec
from bot.quotas.engines.runai.queues import RunaiQueues
from bot.quotas.engines.runai.runs import RunaiRuns
from tests.bot.quotas.engines.runai.plane import LABEL, POOL, ControlPlane, workload
from tests.bot.quotas.engines.runai.seeing import GPUS, cluster_of, job, look, node, pod

ROOT = decode(msgspec.json.encode(job("lane", "u1")), Job, "Reading")
FULL = "no nodes with enough resources were found"
PRIORITY = {"metadata": {"name": "train", "uid": "p", "resourceVersion": "1"}, "value": 50}
DEMAND = Demand("team-a", "team-a", gpus=Decimal(2))


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return cluster_of(tmp_path)


def runs(cluster: Cluster, plane: ControlPlane, *pods: Any) -> RunaiRuns:
    """What the engine does once the view has seen these pods of the run."""
    shown: dict[Resource[Any], Any] = {PODS: pods, SYSTEM_PRIORITIES: [PRIORITY]}
    look(cluster, plane, {**shown, NODES: [node("gpu-1")], JOBS: [job("lane", "u1")]})
    return RunaiRuns(RunaiQueues(cluster, GPUS))


def manifest(gpus: str = "2") -> dict[str, Any]:
    amounts = {"cpu": "8", GPUS: gpus}
    container = {"name": "main", "resources": {"requests": amounts, "limits": {GPUS: gpus}}}
    template = {"metadata": {"labels": {"ours": "1"}}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "lane", "labels": {"ours": "1"}},
        "spec": {
            "suspend": True,
            "backoffLimit": 2,
            "activeDeadlineSeconds": 3600,
            "template": template,
        },
    }


def test_a_job_names_project_and_scheduler(cluster: Cluster, plane: ControlPlane) -> None:
    given = manifest()
    queued = runs(cluster, plane).apply_queueing(given, QueueingSpec("team-a", "train", Decimal(2)))
    marks = {"runai/queue": "team-a", "priorityClassName": "train", "ours": "1"}
    assert queued["metadata"]["labels"] == marks
    assert queued["metadata"]["annotations"] == {"quartermaster.dev/attempts": "2"}
    assert (queued["spec"].keys(), queued["spec"]["backoffLimit"]) == (
        {"backoffLimit", "template"},
        20,
    )
    template = queued["spec"]["template"]
    assert template["metadata"]["labels"] == marks
    spec = template["spec"]
    assert (spec["schedulerName"], spec["priorityClassName"]) == ("runai-scheduler", "train")
    assert spec["activeDeadlineSeconds"] == 3600
    assert spec["containers"][0]["resources"]["limits"] == {GPUS: "2"}
    assert given == manifest()


def test_a_part_of_a_gpu_is_an_annotation(cluster: Cluster, plane: ControlPlane) -> None:
    queueing = QueueingSpec("team-a", None, Decimal("0.50"))
    queued = runs(cluster, plane).apply_queueing(manifest("1"), queueing)
    template = queued["spec"]["template"]
    assert template["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    assert template["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "8"},
        "limits": {},
    }
    assert "priorityClassName" not in template["spec"]


def test_a_gpu_type_names_a_node_pool(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.add_node_pool("default")
    plane.tenant.add_project("both", {POOL: 2, "default": 2})
    engine = runs(cluster, plane)
    both = RunaiQueues(cluster, GPUS).named("both")
    assert both is not None
    assert engine.placement(both, POOL) == Placement(
        labels={"runai/node-pool": POOL}, node_labels=dict([LABEL])
    )
    assert engine.placement(both, "default") == Placement(labels={"runai/node-pool": "default"})


def test_a_gang_says_how_many_start_together(cluster: Cluster, plane: ControlPlane) -> None:
    given = manifest()
    given["spec"]["parallelism"] = 4
    queued = runs(cluster, plane).apply_queueing(given, QueueingSpec("team-a", pods=4))
    assert queued["metadata"]["annotations"]["kai.scheduler/batch-min-member"] == "4"


def test_a_usable_project_refuses_nothing(cluster: Cluster, plane: ControlPlane) -> None:
    engine = runs(cluster, plane)
    engine.refuse(DEMAND)
    engine.refuse(Demand("team-a", "team-a", gpus=Decimal(2), priority="train"))
    assert engine.warnings(DEMAND) == ()


@pytest.mark.parametrize(
    ("demand", "message", "hint"),
    [
        (
            Demand("team-a", "team-x"),
            "Run:ai has no project team-x in this cluster.",
            "A platform admin has to create it or correct `queue` in quartermaster.yaml.",
        ),
        (
            Demand("team-a", "team-b"),
            (
                "Run:ai's project team-b has namespace team-b, not team-a, so Run:ai would not"
                " count this run for it."
            ),
            "A platform admin has to correct `namespace` or `queue` in quartermaster.yaml.",
        ),
        (
            Demand("runai-new", "new"),
            "Run:ai's project new is NotReady.",
            "Try again once it is Ready; a platform admin can see why in Run:ai.",
        ),
        (
            Demand("team-a", "team-a", priority="urgent"),
            "The cluster has no priority class urgent.",
            "It has: train.",
        ),
    ],
)
def test_a_run_that_never_starts_is_refused(
    cluster: Cluster, plane: ControlPlane, demand: Demand, message: str, hint: str
) -> None:
    plane.tenant.add_project("new", {POOL: 2})
    plane.tenant.projects["new"]["phase"] = "NotReady"
    with pytest.raises(UserError) as refused:
        runs(cluster, plane).refuse(demand)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_a_project_that_changes_takes_runs(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.projects["team-a"]["phase"] = "Updating"
    runs(cluster, plane).refuse(Demand("team-a", "team-a"))


def test_an_unread_view_refuses_no_project(cluster: Cluster) -> None:
    RunaiRuns(RunaiQueues(cluster, GPUS)).refuse(Demand("team-a", "team-x", priority="urgent"))


def test_a_run_with_a_placed_pod_has_started(cluster: Cluster, plane: ControlPlane) -> None:
    engine = runs(cluster, plane, pod("lane-1", on="gpu-1"), pod("lane-2", said=FULL))
    admitted = AdmissionState("lane", AdmissionPhase.ADMITTED)
    assert engine.admission(ROOT) == engine.live_admission(ROOT) == admitted


@pytest.mark.parametrize(
    ("said", "reported", "blocked"),
    [
        ("", {}, Blocked(Cause.NOT_LOOKED_AT)),
        (FULL, {}, Blocked(Cause.QUOTA, FULL)),
        (FULL, {"phaseReason": "OverLimit"}, Blocked(Cause.LIMIT)),
        ("", {"phaseMessage": "Waits its turn"}, Blocked(Cause.QUOTA, "Waits its turn")),
    ],
)
def test_runai_says_what_a_run_waits_for(
    cluster: Cluster, plane: ControlPlane, said: str, reported: dict[str, str], blocked: Blocked
) -> None:
    plane.tenant.workloads = [workload("lane", "team-a", 2, **reported)]
    engine = runs(cluster, plane, pod("lane-1", said=said))
    assert engine.admission(ROOT) == AdmissionState("lane", AdmissionPhase.WAITING, blocked=blocked)


def test_a_run_that_is_not_listed_waits(cluster: Cluster, plane: ControlPlane) -> None:
    waits = AdmissionState("lane", AdmissionPhase.WAITING, blocked=Blocked(Cause.NOT_LOOKED_AT))
    assert runs(cluster, plane).admission(ROOT) == waits
