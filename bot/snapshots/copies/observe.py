"""Observes what a copy needs and has made, by live requests."""

from typing import TypeVar

from bot.approvals import ApprovalPhase
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS, SNAPSHOTS
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.objects import ClusterObject
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.datasets.caches.users import OVER
from bot.datasets.pods import quoted, warning
from bot.datasets.versions.decide import SurveyObserved
from bot.datasets.versions.observe import observe_job
from bot.snapshots.copies.decide import CopyObserved
from bot.snapshots.copies.tables import Copy, CopySource

T = TypeVar("T", bound=ClusterObject)


def observe(cluster: Cluster, row: Copy, approval: ApprovalPhase, note: str) -> CopyObserved:
    """The observed state of a copy; ClusterError if the cluster cannot be read."""
    seen = observe_job(cluster, row, labels.PVC_COPY)
    snapshot = restored = None
    if row.reads == CopySource.SNAPSHOT:
        snapshot = cluster.get(SNAPSHOTS, row.job_name, row.namespace)
        restored = cluster.get(PVCS, row.job_name, row.namespace)
    named = {"VolumeSnapshot": snapshot, "PVC": restored}
    strange = [what for what, each in named.items() if each and not _is_ours(cluster, row, each)]
    snapshot = snapshot if "VolumeSnapshot" not in strange else None
    restored = restored if "PVC" not in strange else None
    if not row.is_live:
        return CopyObserved(approval, note, snapshot=snapshot, restored=restored, seen=seen)
    target = cluster.get(PVCS, row.target, row.namespace)
    taken = f"{strange[0]} {row.job_name}" if strange else ""
    if target is not None and not _is_target(cluster, row, target):
        taken, target = f"PVC {row.target}", None
    if seen.is_taken:
        taken = f"Job {row.job_name}"
    claim = _mine(cluster.get(PVCS, row.claim_name, row.namespace), row.claim_uid)
    return CopyObserved(
        approval,
        note,
        claim=claim,
        pods=_pods(cluster, row),
        target=target,
        snapshot=snapshot,
        restored=restored,
        taken=taken,
        obstacle=_obstacle(cluster, seen, (target, restored), snapshot),
        seen=seen,
    )


def _mine(found: T | None, uid: str) -> T | None:
    return found if found is not None and found.uid == uid else None


def _is_ours(cluster: Cluster, row: Copy, found: ClusterObject) -> bool:
    marks = {labels.PVC_COPY: row.id, labels.INSTALLATION: cluster.installation}
    return marks.items() <= found.labels.items()


def _is_target(cluster: Cluster, row: Copy, found: PersistentVolumeClaim) -> bool:
    """Whether it is the PVC that this copy created, or that it goes on with."""
    if row.target_uid is not None:
        return found.uid == row.target_uid
    return _is_ours(cluster, row, found)


def _pods(cluster: Cluster, row: Copy) -> dict[str, str]:
    """The nodes of the pods that mount the PVC and are not this copy's."""
    return {
        each.name: each.spec.node_name
        for each in cluster.list(PODS, row.namespace)
        if row.claim_name in each.spec.claims
        and each.status.phase not in OVER
        and each.labels.get(labels.PVC_COPY) != row.id
    }


def _obstacle(
    cluster: Cluster,
    seen: SurveyObserved,
    claims: tuple[PersistentVolumeClaim | None, ...],
    snapshot: VolumeSnapshot | None,
) -> str:
    """What keeps the Job from being created or started, as a sentence; empty if unknown."""
    if seen.is_running:
        return ""
    error = snapshot.status.error if snapshot is not None else None
    if snapshot is not None and not snapshot.status.ready_to_use and error is not None:
        return quoted("Its snapshot is not ready", error.message)
    for each in claims:
        if each is not None and each.status.phase == "Pending":
            said = warning(cluster, each.namespace, each.uid)
            if said:
                return said.replace("Kubernetes warns", f"PVC {each.name} has no volume yet", 1)
    job = seen.job
    if job is None or seen.obstacle or seen.said is not None:
        return seen.obstacle
    if job.spec.suspend:
        return "Its Job is suspended: the quota engine of the cluster has not admitted it."
    return warning(cluster, job.namespace, job.uid)
