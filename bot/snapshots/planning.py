"""Checks a request for a snapshot against what the watches show."""

from datetime import datetime, timedelta
from typing import Literal

from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, SNAPSHOT_CLASSES, SNAPSHOTS, STORAGE_CLASSES
from bot.config import Snapshots, Team
from bot.errors import ConflictError, NotFoundError
from bot.slack.grammar.reading import closest
from bot.snapshots.classes import Problem, class_for
from bot.snapshots.examining import SnapshotPlan, examine, in_view
from bot.snapshots.tables import Snapshot


def plan_of(
    cluster: Cluster, team_name: str, team: Team, claim: str, settings: Snapshots
) -> SnapshotPlan:
    """How a team's snapshot of a PVC would be taken; raises UserError if it cannot be."""
    refuse_unserved(cluster)
    around = in_view(cluster, team.namespace, claim)
    if around.claim is None:
        near = closest(claim, [each.name for each in cluster.view.all(PVCS, team.namespace)])
        look = f"List them: kubectl get pvc -n {team.namespace}"
        raise NotFoundError(
            f"There is no PVC {claim} in namespace {team.namespace}.",
            f"Did you mean {near}?" if near else look,
        )
    plan = examine(around, claim, team_name, settings)
    if isinstance(plan, Problem):
        raise ConflictError(plan.reason, plan.unblock)
    return plan


def refuse_class(cluster: Cluster, storage_class: str, settings: Snapshots) -> None:
    """Raises ConflictError if volumes of a storage class cannot have snapshots.

    What the watches have not read yet is not a reason to refuse.
    """
    refuse_unserved(cluster)
    kind = cluster.view.get(STORAGE_CLASSES, storage_class)
    if kind is None or not cluster.view.store(SNAPSHOT_CLASSES).synced:
        return
    found = class_for(kind.provisioner, cluster.view.all(SNAPSHOT_CLASSES), settings)
    if isinstance(found, Problem):
        raise ConflictError(found.reason, found.unblock)


def refuse_unserved(cluster: Cluster) -> None:
    """Raises ConflictError if a cluster does not serve snapshots."""
    if cluster.view.store(SNAPSHOTS).absent:
        problem = unserved(cluster.name)
        raise ConflictError(problem.reason, problem.unblock)


def unserved(cluster: str) -> Problem:
    """The problem that a cluster does not serve snapshots."""
    return Problem(
        f"Cluster {cluster} takes no snapshots: it serves no VolumeSnapshots.",
        "A platform admin has to install the CSI snapshot controller and its CRDs.",
    )


def kept_until(
    keep: timedelta | Literal["off"] | None, settings: Snapshots, now: datetime
) -> datetime | None:
    """When a snapshot expires; None if it is kept until it is deleted."""
    kept = keep if keep is not None else settings.keep
    return None if kept == "off" else now + kept


def note_plan(row: Snapshot, plan: SnapshotPlan | None) -> None:
    """Records the PVC, class, driver and size of a snapshot, unless they are known."""
    if plan is None or row.claim_uid:
        return
    row.claim_uid, row.storage_class, row.driver, row.capacity_bytes = plan[:4]
