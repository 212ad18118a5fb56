"""Projects of Run:ai as figures, and its workloads as what waits and runs in them."""

from decimal import Decimal
from pathlib import Path

import pytest

from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, NODES
from bot.config import Team
from bot.quotas.engines.admission import Blocked, Cause
from bot.quotas.engines.engine import Figures, QueueBacklog
from bot.quotas.engines.runai.queues import RunaiQueues
from bot.quotas.replies import status_card
from bot.quotas.status import team_status
from tests.bot.quotas.engines.runai.plane import POOL, ControlPlane, workload
from tests.bot.quotas.engines.runai.seeing import GPUS, cluster_of, job, look, node

TEAM = Team.model_validate({"namespace": "team-a", "queue": "team-a"})
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return cluster_of(tmp_path)


def seen(cluster: Cluster, plane: ControlPlane, *nodes: object) -> RunaiQueues:
    """The projects as the view shows them after a look."""
    shown = nodes or (node("gpu-1"), node("gpu-2"))
    look(cluster, plane, {NODES: shown, JOBS: [job("lane", "u1")]})
    return RunaiQueues(cluster, GPUS)


def shown(queues: RunaiQueues) -> list[str]:
    """The rows of /quota status for team-a."""
    card = status_card([team_status(queues, "team-a", TEAM, ())])
    assert card.table is not None
    return [" | ".join(row) for row in card.table.rows]


def figures_of(queues: RunaiQueues, project: str = "team-a", pool: str = POOL) -> Figures:
    found = queues.named(project)
    figures = found.of(pool) if found else None
    assert figures is not None
    return figures


def test_a_project_shows_quota_use_and_surplus(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.used = {("team-a", POOL): 6.5}
    assert figures_of(seen(cluster, plane)) == Figures(
        queue="team-a",
        cohort="default",
        flavor=POOL,
        nominal=Decimal(4),
        borrowing_limit=None,
        lending_limit=None,
        used=Decimal("6.5"),
        reserved=Decimal("6.5"),
        borrowed=Decimal("2.5"),
        reclaims=True,
    )


def test_status_shows_what_a_project_can_borrow(cluster: Cluster, plane: ControlPlane) -> None:
    assert shown(seen(cluster, plane)) == ["h100 | 4 | 0 | 0 | 12 | 0"]
    plane.tenant.used = {("team-a", POOL): 6, ("team-b", POOL): 8}
    plane.tenant.workloads = [workload("waits", "team-a", 4)]
    assert shown(seen(cluster, plane)) == ["h100 | 4 | 6 | 2 | 2 | 1 (4 GPUs)"]


@pytest.mark.parametrize(
    ("limit", "borrows"), [(None, None), (-1, None), (10, Decimal(6)), (2, Decimal(0))]
)
def test_a_limit_includes_the_quota(
    cluster: Cluster, plane: ControlPlane, limit: int | None, borrows: Decimal | None
) -> None:
    plane.tenant.add_project("capped", {POOL: 4}, limit=limit)
    assert figures_of(seen(cluster, plane), "capped").borrowing_limit == borrows


def test_usage_that_is_not_reported_is_unknown(cluster: Cluster, plane: ControlPlane) -> None:
    listed = plane.tenant.listed_projects()
    del listed[0]["status"]["nodePoolQuotaStatuses"]
    plane.tenant.listed_projects = lambda: listed  # type: ignore[method-assign]  # an old tenant
    queues = seen(cluster, plane)
    assert (figures_of(queues).used, figures_of(queues).borrowed) == (None, None)
    assert figures_of(queues, "team-b").used == 0
    assert shown(queues) == ["h100 | 4 | unknown | unknown | unknown | 0"]


def test_nodes_without_label_are_in_the_default_pool(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.add_node_pool("default")
    queues = seen(cluster, plane, node("gpu-1"), node("old-1", "4", None), node("old-2", "2", None))
    assert queues.allocatable(POOL) == 8
    assert queues.allocatable("default") == 6
    assert queues.allocatable("gone") is None


def test_pending_work_is_ordered_by_priority_and_age(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.workloads = [
        workload("low", "team-a", 1, priority=25),
        workload("late", "team-a", 2, createdAt="2026-11-21T11:59:30Z"),
        workload("early", "team-a", 4),
        workload("theirs", "team-b", 8),
        workload("runs", "team-a", 1, phase="Running"),
    ]
    waiting = seen(cluster, plane).waiting("team-a")
    assert waiting is not None
    assert [each.name for each in waiting.items] == ["early", "late", "low"]
    assert waiting.gpus == 7


def test_unread_workloads_are_unknown_not_none(cluster: Cluster, plane: ControlPlane) -> None:
    assert RunaiQueues(cluster, GPUS).waiting("team-a") is None
    assert seen(cluster, plane).waiting("team-a") == QueueBacklog((), Decimal(0))


@pytest.mark.parametrize(
    ("reason", "message", "blocked"),
    [
        (None, None, Blocked(Cause.NOT_LOOKED_AT)),
        (None, FULL, Blocked(Cause.QUOTA, FULL)),
        ("OverLimit", "over its limit", Blocked(Cause.LIMIT, "over its limit")),
        ("NonPreemptibleOverQuota", None, Blocked(Cause.NOT_PREEMPTIBLE)),
        ("LaterReason", "no node\nfits", Blocked(Cause.QUOTA, "no node fits")),
    ],
)
def test_what_work_waits_for_is_quoted(
    cluster: Cluster, plane: ControlPlane, reason: str | None, message: str | None, blocked: Blocked
) -> None:
    plane.tenant.workloads = [
        workload("waits", "team-a", 4, phaseReason=reason, phaseMessage=message)
    ]
    waiting = seen(cluster, plane).waiting("team-a")
    assert waiting is not None
    assert waiting.items[0].blocked == blocked


def test_running_work_holds_gpus_of_its_node_pool(cluster: Cluster, plane: ControlPlane) -> None:
    held = {"phase": "Running", "allocatedResources": {"gpu": 2}, "currentNodePools": [POOL]}
    plane.tenant.workloads = [workload("runs", "team-a", 2, **held)]
    (item,) = seen(cluster, plane).admitted("team-a")
    assert (item.held(POOL), item.held("default"), item.blocked) == (Decimal(2), Decimal(0), None)


def test_own_runs_are_told_from_other_work(cluster: Cluster, plane: ControlPlane) -> None:
    plane.tenant.workloads = [
        workload("lane", "team-a", 4),
        workload("theirs", "team-a", 1),
        workload("elsewhere", "team-a", 1, namespace="team-x"),
    ]
    queues = seen(cluster, plane)
    (theirs,) = queues.within("team-a", "team-a", besides=frozenset({"u1"}))
    assert (theirs.name, theirs.uid, theirs.owner_uids) == ("theirs", "id-of-theirs", ())
    mine = queues.waiting("team-a")
    assert mine is not None
    assert [(each.uid, dict(each.labels)) for each in mine.items if each.name == "lane"] == [
        ("u1", {"quartermaster.dev/run": "r1"})
    ]


def test_a_silent_control_plane_is_named(cluster: Cluster, plane: ControlPlane) -> None:
    why = "Run:ai (cluster default) does not respond: TimeoutError."
    unread = team_status(RunaiQueues(cluster, GPUS), "team-a", TEAM, (), why)
    (footer,) = status_card([unread]).footer
    assert str(footer) == (
        "The queues of cluster default have not been read yet. default or its Run:ai does not"
        " answer."
    )
    (footer,) = status_card([team_status(seen(cluster, plane), "team-a", TEAM, (), why)]).footer
    assert str(footer).startswith("Cluster default or its Run:ai does not answer; its figures are")
