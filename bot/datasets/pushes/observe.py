"""Observes the Job of a push and the objects it reads, by live requests."""

from typing import TypeVar

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS, VOLUMES, Resource
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import ClusterObject
from bot.cluster.types.snapshots import VolumeSnapshot, VolumeSnapshotContent
from bot.datasets import pods
from bot.datasets.pushes.decide import PushObserved, Restored
from bot.datasets.tables import Push
from bot.datasets.versions.observe import observe_job

T = TypeVar("T", bound=ClusterObject)


def observe(cluster: Cluster, push: Push) -> PushObserved:
    """The observed state of a push; ClusterError if the cluster cannot be read."""
    seen = observe_job(cluster, push, labels.DATASET_PUSH)
    if push.snapshot:
        return PushObserved(seen, restored=_restored(cluster, push))
    if not push.is_live or push.is_upload:
        return PushObserved(seen)
    claim = cluster.get(PVCS, push.claim_name, push.claim_namespace)
    return PushObserved(seen, has_claim=claim is not None and claim.uid == push.claim_uid)


def _restored(cluster: Cluster, push: Push) -> Restored:
    content = _one(cluster, SNAPSHOT_CONTENTS, push.job_name)
    snapshot = _one(cluster, SNAPSHOTS, push.job_name, push.namespace)
    claim = _one(cluster, PVCS, push.job_name, push.namespace)
    named = {"VolumeSnapshotContent": content, "VolumeSnapshot": snapshot, "PVC": claim}
    strange = [
        what
        for what, each in named.items()
        if each is not None and not _is_ours(cluster, push, each)
    ]
    source, origin = _source(cluster, push) if push.is_live else (None, None)
    return Restored(
        source=source,
        origin=origin,
        content=content if "VolumeSnapshotContent" not in strange else None,
        snapshot=snapshot if "VolumeSnapshot" not in strange else None,
        claim=claim if "PVC" not in strange else None,
        volume=_left(cluster, push) if claim is None else None,
        taken=f"{strange[0]} {push.job_name}" if strange else "",
        obstacle=_obstacle(cluster, source, snapshot, claim) if push.is_live else "",
    )


def _source(
    cluster: Cluster, push: Push
) -> tuple[VolumeSnapshot | None, VolumeSnapshotContent | None]:
    """The team's snapshot, and the VolumeSnapshotContent bound to it."""
    source = _one(cluster, SNAPSHOTS, push.snapshot, push.claim_namespace)
    name = source.status.bound_volume_snapshot_content_name if source is not None else ""
    return source, _one(cluster, SNAPSHOT_CONTENTS, name) if name else None


def _one(
    cluster: Cluster, resource: Resource[T], name: str, namespace: str | None = None
) -> T | None:
    """The object of that name, by a list request; None without one."""
    return next(iter(cluster.list(resource, namespace, fields=f"metadata.name={name}")), None)


def _is_ours(cluster: Cluster, push: Push, found: ClusterObject) -> bool:
    marks = {labels.DATASET_PUSH: push.id, labels.INSTALLATION: cluster.installation}
    return marks.items() <= found.labels.items()


def _left(cluster: Cluster, push: Push) -> PersistentVolume | None:
    """The volume that the PVC had, unless it has since been bound to another PVC."""
    volume = _one(cluster, VOLUMES, push.volume_name) if push.volume_name else None
    owner = volume.spec.claim_ref if volume is not None else None
    is_its = owner is not None and (owner.namespace, owner.name) == (push.namespace, push.job_name)
    return volume if is_its else None


def _obstacle(
    cluster: Cluster,
    source: VolumeSnapshot | None,
    snapshot: VolumeSnapshot | None,
    claim: PersistentVolumeClaim | None,
) -> str:
    """Why there is no volume yet, as a sentence; empty if unknown."""
    if claim is not None:
        waits = claim.status.phase == "Pending"
        said = pods.warning(cluster, claim.namespace, claim.uid) if waits else ""
        return said.replace("Kubernetes warns", "Its volume has not been created", 1)
    for each in (source, snapshot):
        error = each.status.error if each is not None and not each.status.ready_to_use else None
        if error is not None and error.message:
            return pods.quoted("Its snapshot is not ready", error.message)
    return ""
