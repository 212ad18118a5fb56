"""Reads the state of a restore from the cluster, live."""

from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, PVCS, SNAPSHOTS, STORAGE_CLASSES, Resource
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.datasets.caches.users import OVER
from bot.datasets.pods import warning
from bot.snapshots.restores.decide import RestoreObserved
from bot.snapshots.tables import Restore

_LATE = "WaitForFirstConsumer"


def observe(cluster: Cluster, row: Restore) -> RestoreObserved:
    """What the cluster shows of a restore; raises ClusterError if it cannot be read."""
    claim = cluster.get(PVCS, row.claim_name, row.namespace)
    if claim is not None and not _is_ours(claim, row, cluster.installation):
        return RestoreObserved(claim, is_taken=True)
    if not row.is_live:
        return RestoreObserved(claim)
    if claim is None:
        return RestoreObserved(has_source=row.uid is not None or _has_source(cluster, row))
    if claim.status.phase == "Bound":
        return RestoreObserved(claim)
    users = _users(cluster, row) if row.cancelled_by is not None else ()
    return RestoreObserved(
        claim,
        users=users,
        is_for_a_pod=_waits_for_a_pod(cluster, claim),
        warning=warning(cluster, row.namespace, claim.uid),
    )


def _users(cluster: Cluster, row: Restore) -> tuple[str, ...]:
    """The pods that name it and have not ended."""
    return tuple(
        sorted(
            each.name
            for each in cluster.list(PODS, row.namespace)
            if row.claim_name in each.spec.claims and each.status.phase not in OVER
        )
    )


def _has_source(cluster: Cluster, row: Restore) -> bool:
    """Whether its source exists and is still the same object."""
    resource: Resource[Any] = SNAPSHOTS if row.snapshot_id is not None else PVCS
    found = cluster.get(resource, row.source, row.source_namespace or row.namespace)
    if found is None or found.metadata.deletion_timestamp is not None:
        return False
    return bool(found.uid == row.source_uid)


def _waits_for_a_pod(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    kind = cluster.view.get(STORAGE_CLASSES, claim.spec.storage_class_name or "")
    is_late = kind is not None and kind.volume_binding_mode == _LATE
    return is_late and labels.SELECTED_NODE not in claim.metadata.annotations


def _is_ours(claim: PersistentVolumeClaim, row: Restore, installation: str) -> bool:
    """Whether this installation created the PVC for this row."""
    marks = {labels.RESTORE: row.id, labels.INSTALLATION: installation}
    return marks.items() <= claim.labels.items() and row.uid in {None, claim.uid}
