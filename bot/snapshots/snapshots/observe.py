"""Reads the state of a snapshot from the cluster, live."""

from collections.abc import Collection, Iterator

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.config import Snapshots
from bot.snapshots.classes import Problem
from bot.snapshots.examining import SnapshotPlan, examine, live
from bot.snapshots.snapshots.decide import SnapshotObserved
from bot.snapshots.tables import Snapshot, SnapshotIntent, SnapshotPhase

_KIND = "VolumeSnapshot"


def observe(cluster: Cluster, row: Snapshot, settings: Snapshots) -> SnapshotObserved:
    """What the cluster shows of a snapshot; raises ClusterError if it cannot be read."""
    found = cluster.get(SNAPSHOTS, row.name, row.namespace)
    if found is not None and not _is_ours(found, row, cluster.installation):
        return SnapshotObserved(found, is_taken=True)
    if found is None:
        is_new = (
            row.phase == SnapshotPhase.ASKED
            and row.uid is None
            and row.wanted == SnapshotIntent.KEPT
        )
        return SnapshotObserved(plan=_examined(cluster, row, settings) if is_new else None)
    if row.wanted == SnapshotIntent.DELETED and row.is_live:
        users = tuple(users_of(row.name, cluster.list(PVCS, row.namespace)))
        return SnapshotObserved(found, users=(*users, *_last(cluster, row)))
    content = found.status.bound_volume_snapshot_content_name
    if (
        content
        and found.status.ready_to_use
        and row.phase in {SnapshotPhase.ASKED, SnapshotPhase.TAKING}
    ):
        return SnapshotObserved(
            found, plan=_plan(cluster, row, settings),
            content=cluster.get(SNAPSHOT_CONTENTS, content),
        )  # fmt: skip
    return SnapshotObserved(found, plan=_plan(cluster, row, settings))


def _plan(cluster: Cluster, row: Snapshot, settings: Snapshots) -> SnapshotPlan | Problem | None:
    """The plan of a VolumeSnapshot that was created before its PVC was recorded on the row."""
    is_known = bool(row.claim_uid) or not row.is_live
    return None if is_known else _examined(cluster, row, settings)


def _examined(cluster: Cluster, row: Snapshot, settings: Snapshots) -> SnapshotPlan | Problem:
    around = live(cluster, row.namespace, row.claim_name)
    return examine(around, row.claim_name, row.team, settings)


def users_of(name: str, claims: Collection[PersistentVolumeClaim]) -> Iterator[str]:
    """The PVCs that a VolumeSnapshot has to stay for, as sentences."""
    for claim in claims:
        sources = (claim.spec.data_source_ref, claim.spec.data_source)
        if not any(each is not None and (each.kind, each.name) == (_KIND, name)
                   for each in sources):  # fmt: skip
            continue
        if claim.metadata.annotations.get(labels.READ_ONLY_CLONE) == "true":
            yield f"PVC {claim.name} shows it without a copy."
        elif claim.status.phase != "Bound":
            yield f"PVC {claim.name} is being created from it."


def _last(cluster: Cluster, row: Snapshot) -> Iterator[str]:
    """Why an expired snapshot stays: it is the newest in the cluster, which rows may not know."""
    if row.deleted_by is not None:
        return
    others = cluster.list(SNAPSHOTS, row.namespace)
    if not any(_is_newer(each, row, cluster.installation) for each in others):
        yield f"It is the newest snapshot of {row.claim_name} in the cluster."


def _is_newer(other: VolumeSnapshot, row: Snapshot, installation: str) -> bool:
    """Whether it is one of ours of the same PVC, which shows a later moment and stays."""
    at = other.status.creation_time or other.metadata.creation_timestamp
    return (
        (other.name != row.name and other.claim_name == row.claim_name)
        and other.labels.get(labels.INSTALLATION) == installation
        and (other.status.ready_to_use and other.metadata.deletion_timestamp is None)
        and (at is not None and at >= (row.taken_at or row.asked_at))
    )


def _is_ours(found: VolumeSnapshot, row: Snapshot, installation: str) -> bool:
    """Whether this installation created the VolumeSnapshot for this row."""
    marks = {labels.SNAPSHOT: row.id, labels.INSTALLATION: installation}
    return marks.items() <= found.labels.items() and row.uid in {None, found.uid}
