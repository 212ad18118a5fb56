"""Checks whether a snapshot of a PVC can be taken, from watches or from live reads."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.cluster.cluster import Cluster
from bot.cluster.ownership import foreign_claim
from bot.cluster.resources import PVCS, SNAPSHOT_CLASSES, SNAPSHOTS, VOLUMES
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot, VolumeSnapshotClass
from bot.config import Snapshots
from bot.snapshots.classes import Problem, class_for


class ClaimContext(NamedTuple):
    """A PVC, its PersistentVolume, the snapshot classes, and the snapshots of its namespace."""

    claim: PersistentVolumeClaim | None
    volume: PersistentVolume | None
    classes: Sequence[VolumeSnapshotClass]
    snapshots: Sequence[VolumeSnapshot]


class SnapshotPlan(NamedTuple):
    """How a snapshot would be taken; `capacity_bytes` is the size of the volume."""

    claim_uid: str
    storage_class: str
    driver: str
    capacity_bytes: int
    kind: VolumeSnapshotClass


def in_view(cluster: Cluster, namespace: str, name: str) -> ClaimContext:
    """What the watches show of a PVC."""
    view = cluster.view
    claim = view.get(PVCS, name, namespace)
    return ClaimContext(
        claim,
        view.get(VOLUMES, claim.spec.volume_name) if claim is not None else None,
        view.all(SNAPSHOT_CLASSES),
        view.all(SNAPSHOTS, namespace),
    )


def live(cluster: Cluster, namespace: str, name: str) -> ClaimContext:
    """What the cluster shows of a PVC now, live; raises ClusterError if it cannot be read."""
    claim = cluster.get(PVCS, name, namespace)
    # A PersistentVolume does not change once it is bound, so the watch is enough.
    volume = cluster.view.get(VOLUMES, claim.spec.volume_name) if claim is not None else None
    if claim is not None and claim.spec.volume_name and volume is None:
        named = f"metadata.name={claim.spec.volume_name}"
        volume = next(iter(cluster.list(VOLUMES, fields=named)), None)
    return ClaimContext(
        claim, volume, cluster.list(SNAPSHOT_CLASSES), cluster.list(SNAPSHOTS, namespace)
    )


def examine(
    around: ClaimContext, name: str, team: str, settings: Snapshots
) -> SnapshotPlan | Problem:
    """How a team's snapshot of the PVC of that name would be taken, or why it cannot be."""
    claim = around.claim
    if claim is None:
        return Problem(f"PVC {name} no longer exists.", "Name another PVC.")
    problem = not_theirs(claim, team) or _unfit(claim, around.volume)
    if problem is not None:
        return problem
    csi = around.volume.spec.csi if around.volume is not None else None
    driver = csi.driver if csi is not None else ""
    kind = class_for(driver, around.classes, settings)
    if isinstance(kind, Problem):
        return kind
    there = sum(each.claim_name == claim.name for each in around.snapshots)
    most = settings.limits.get(driver)
    if most is not None and there >= most:
        return Problem(
            f"PVC {claim.name} has {there} snapshots; a volume of {driver} can have {most}.",
            "Delete some of them first.",
        )
    storage_class = claim.spec.storage_class_name or ""
    return SnapshotPlan(claim.uid, storage_class, driver, claim.size_bytes or 0, kind)


def not_theirs(claim: PersistentVolumeClaim, team: str) -> Problem | None:
    """Why a PVC is not the team's own; None if it is."""
    foreign = foreign_claim(claim, team)
    if foreign is None:
        return None
    return Problem(foreign.reason, "Name a PVC that your runs write to.")


def _unfit(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> Problem | None:
    """Why no snapshot of the PVC can be taken, from the PVC and its volume alone."""
    if claim.metadata.deletion_timestamp is not None:
        return Problem(f"PVC {claim.name} is being deleted.", "Name another PVC.")
    if claim.status.phase != "Bound" or volume is None:
        return Problem(
            f"PVC {claim.name} has no volume yet, so there is nothing to take a snapshot of.",
            "Most PVCs get their volume when the first run mounts them.",
        )
    if volume.spec.csi is None:
        return Problem(
            f"The volume of PVC {claim.name} has no CSI driver, which snapshots need.",
            "Copy the data to a PVC whose storage class has a CSI driver.",
        )
    return None
