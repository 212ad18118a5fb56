"""Quotas and runs of a cluster without a quota engine, from its view."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.resources import ALLOWANCES, JOBS, PODS, SYSTEM_PRIORITIES, Resource
from bot.cluster.types.objects import Job
from bot.cluster.view import View
from bot.errors import ConflictError, UsageError
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState, Blocked, Cause
from bot.quotas.engines.engine import Demand, Figures, Placement, Queue, QueueingSpec
from bot.quotas.engines.none.queues import PlainOverrides, PlainQueues
from bot.quotas.engines.none.runs import PlainRuns
from bot.quotas.engines.quota import NOMINAL, QuotaField, QuotaTarget

GPUS = "nvidia.com/gpu"
COUNTED = f"requests.{GPUS}"
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def allowance(name: str, hard: str | None, used: str = "0", namespace: str = "team-a") -> Any:
    """A ResourceQuota; without GPUs it counts pods."""
    counted = {COUNTED: hard} if hard else {"pods": "50"}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"},
        "status": {"hard": counted, "used": {COUNTED: used} if hard else {}},
    }


def pod(name: str, node: str = "", said: str = "") -> Any:
    """A pod of run r1; `said` is why no node takes it."""
    status = "True" if node else "False"
    scheduled = {"type": "PodScheduled", "status": status, "message": said}
    labels = {"quartermaster.dev/run": "r1"}
    return {
        "metadata": {"name": name, "namespace": "team-a", "uid": name, "labels": labels},
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": "Pending", "conditions": [scheduled] if node or said else []},
    }


def seen(shown: dict[Resource[Any], list[Any]]) -> View:
    """A view that shows these and has read everything else that it watches."""
    watched: tuple[Resource[Any], ...] = (ALLOWANCES, JOBS, PODS, SYSTEM_PRIORITIES)
    view = View(watched)
    for resource in watched:
        bodies = map(msgspec.json.encode, shown.get(resource, []))
        view.store(resource).replace([decode(body, resource.type, "Reading") for body in bodies])
    return view


def runs(shown: dict[Resource[Any], list[Any]]) -> PlainRuns:
    """What the engine has to do with runs there."""
    view = seen(shown)
    return PlainRuns(view, PlainQueues(view, GPUS))


ROOT = decode(
    msgspec.json.encode(
        {"metadata": {"name": "lane", "uid": "j", "labels": {"quartermaster.dev/run": "r1"}}}
    ),
    Job,
    "Reading",
)


def test_the_tightest_resource_quota_counts() -> None:
    quotas = [allowance("a", "8", "1"), allowance("b", "6", "4"), allowance("c", None)]
    others = [allowance("d", "2", "0", namespace="team-b")]
    queues = PlainQueues(seen({ALLOWANCES: [*quotas, *others]}), GPUS)
    six, four = Decimal(6), Decimal(4)
    figures = Figures(
        queue="team-a",
        cohort="",
        flavor="any",
        nominal=six,
        borrowing_limit=Decimal(0),
        lending_limit=Decimal(0),
        used=four,
        reserved=four,
        borrowed=Decimal(0),
        reclaims=False,
    )
    assert queues.behind("team-a", "whatever") == Queue("team-a", (figures,))
    assert queues.pool(figures) == (figures,)
    assert {each.queue for each in queues.figures()} == {"team-a", "team-b"}
    assert queues.behind("team-c", "whatever") == Queue("team-c", ())


def test_no_figure_of_it_is_ever_written() -> None:
    place = QuotaField("team-a", "any", GPUS, NOMINAL)
    sight = PlainOverrides().look(place)
    assert (sight.observed.value, sight.observed.kind) == (None, "namespace")
    with pytest.raises(ConflictError, match=r"^Namespace team-a has no quota engine, so"):
        sight.write(QuotaTarget(Decimal(8), None))
    assert list(PlainOverrides().notes()) == []


def test_a_job_starts_at_once_with_its_priority() -> None:
    spec = {"containers": [{"name": "main"}]}
    given: dict[str, Any] = {
        "metadata": {"name": "lane"},
        "spec": {
            "suspend": True,
            "activeDeadlineSeconds": 60,
            "backoffLimit": 2,
            "template": {"spec": spec},
        },
    }
    queued = runs({}).apply_queueing(given, QueueingSpec("team-a", "high"))
    assert queued == {
        "metadata": {"name": "lane"},
        "spec": {
            "backoffLimit": 2,
            "template": {
                "spec": {**spec, "activeDeadlineSeconds": 60, "priorityClassName": "high"}
            },
        },
    }
    assert given["spec"]["suspend"]


def test_an_operators_job_starts_at_once() -> None:
    given = {"metadata": {}, "spec": {"runPolicy": {"suspend": True}, "replicas": {}}}
    queued = runs({}).apply_queueing(given, QueueingSpec("team-a"))
    assert queued == {"metadata": {}, "spec": {"runPolicy": {}, "replicas": {}}}


@pytest.mark.parametrize(
    ("pods", "admission"),
    [
        ([], AdmissionState("lane", AdmissionPhase.WAITING, blocked=Blocked(Cause.NOT_LOOKED_AT))),
        (
            [pod("a")],
            AdmissionState("lane", AdmissionPhase.WAITING, blocked=Blocked(Cause.NOT_LOOKED_AT)),
        ),
        ([pod("a", node="gpu-1")], AdmissionState("lane", AdmissionPhase.ADMITTED)),
        (
            [pod("a", node="gpu-1"), pod("b", said=FULL)],
            AdmissionState("lane", AdmissionPhase.ADMITTED),
        ),
        (
            [pod("a", said=FULL), pod("b", said=FULL)],
            AdmissionState("lane", AdmissionPhase.WAITING, blocked=Blocked(Cause.QUOTA, FULL)),
        ),
        (
            [pod("a", said="pod has unbound immediate PersistentVolumeClaims")],
            AdmissionState("lane", AdmissionPhase.ADMITTED),
        ),
    ],
)
def test_it_waits_while_nodes_are_full(pods: list[Any], admission: AdmissionState) -> None:
    engine = runs({PODS: pods})
    assert engine.admission(ROOT) == admission
    assert engine.live_admission(ROOT) == admission


def test_a_small_resource_quota_is_named() -> None:
    engine = runs({ALLOWANCES: [allowance("a", "4")]})
    demand = Demand("team-a", "team-a", gpus=Decimal(12))
    assert engine.warnings(demand) == (
        (
            "A ResourceQuota limits namespace team-a to 4 GPUs in total, so not all pods of this"
            " run can be created until a platform admin raises it."
        ),
    )
    assert engine.warnings(Demand("team-a", "team-a", gpus=Decimal(4))) == ()
    assert engine.warnings(Demand("team-b", "team-b", gpus=Decimal(400))) == ()


def test_only_priorities_of_the_cluster_are_taken() -> None:
    known = [
        {"metadata": {"name": name}, "value": 100} for name in ("high", "system-node-critical")
    ]
    engine = runs({SYSTEM_PRIORITIES: known})
    engine.refuse(Demand("team-a", "team-a", priority="high"))
    with pytest.raises(UsageError) as refused:
        engine.refuse(Demand("team-a", "team-a", priority="urgent"))
    assert refused.value.message == "The cluster has no priority class urgent."
    assert refused.value.hint == "It has: high."


def test_nothing_else_is_asked_of_anybody() -> None:
    engine = runs({})
    assert engine.placement(Queue("team-a", ()), "h100") == Placement()
    assert (
        engine.leaves_alone(JOBS, {}, "team-a")
        == engine.unmanaged(JOBS, ROOT)
        == engine.left_out(ROOT, ())
        == ""
    )
    assert engine.fixed(JOBS, ROOT) == ""
    assert engine.order("team-a") == ()
