"""Checks, by the watched objects, whether a push can read a team's PVC or snapshot."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.ownership import foreign_claim
from bot.cluster.resources import PVCS, SNAPSHOT_CLASSES, SNAPSHOTS, STORAGE_CLASSES, VOLUMES
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.config import Datasets
from bot.datasets.caches.shares.forms import Unshareable, form_of
from bot.errors import ConflictError, NotFoundError
from bot.slack.grammar.reading import closest

_FOR_MANY_NODES = {"ReadWriteMany", "ReadOnlyMany"}


class Owner(NamedTuple):
    """A team, and the namespace that its PVCs are in."""

    team: str
    namespace: str


class PushVolume(NamedTuple):
    """A team's PVC, or the volume that a snapshot is restored to.

    `claim` and `uid` are of the PVC; `uid` is empty if a snapshot has outlived it. `snapshot_uid`
    and `at`, its creation time, are of a snapshot. `kept_as` is the id of the snapshot's row, if it
    is one of ours.
    """

    claim: str
    uid: str
    storage_class: str
    capacity_bytes: int
    snapshot_uid: str = ""
    at: datetime | None = None
    kept_as: str = ""


NO_VOLUME = PushVolume(claim="", uid="", storage_class="", capacity_bytes=0)
"""What a push from a computer reads in the cluster."""


def found(cluster: Cluster, datasets: Datasets, whose: Owner, name: str) -> PushVolume:
    """A team's PVC as a source; UserError if it cannot be pushed."""
    team, namespace = whose
    claim = cluster.view.get(PVCS, name, namespace)
    if claim is None or claim.metadata.deletion_timestamp is not None:
        near = closest(name, [each.name for each in cluster.view.all(PVCS, namespace)])
        hint = f"Did you mean {near}?" if near else f"List them: kubectl get pvc -n {namespace}"
        raise NotFoundError(f"There is no PVC {name} in namespace {namespace}.", hint)
    foreign = foreign_claim(claim, team)
    if foreign is not None:
        raise ConflictError(foreign.reason, "Use a PVC that your runs wrote to.")
    _refuse_unseen(cluster, datasets, claim)
    return PushVolume(name, claim.uid, claim.spec.storage_class_name or "", claim.size_bytes or 0)


def restorable(cluster: Cluster, datasets: Datasets, whose: Owner, name: str) -> PushVolume:
    """The volume to restore a team's snapshot to; UserError if it cannot be pushed."""
    team, namespace = whose
    snapshot = cluster.view.get(SNAPSHOTS, name, namespace)
    if snapshot is None or snapshot.metadata.deletion_timestamp is not None:
        near = closest(name, [each.name for each in cluster.view.all(SNAPSHOTS, namespace)])
        look = f"List them: kubectl get volumesnapshots -n {namespace}"
        hint = f"Did you mean {near}?" if near else look
        raise NotFoundError(f"There is no VolumeSnapshot {name} in namespace {namespace}.", hint)
    status = snapshot.status
    if not status.ready_to_use:
        said = f" Its driver reports: {status.error.message}" if status.error is not None else ""
        raise ConflictError(
            f"VolumeSnapshot {name} is not ready yet.{said}", "Push it when it is ready."
        )
    claim = cluster.view.get(PVCS, snapshot.claim_name, namespace)
    owner = snapshot.labels.get(labels.TEAM, team)
    if owner != team or (claim is not None and foreign_claim(claim, team) is not None):
        raise ConflictError(
            f"VolumeSnapshot {name} does not belong to a PVC of {team}.",
            "Use a snapshot of your own team.",
        )
    size = max(int(status.restore_size or 0), claim.size_bytes or 0 if claim is not None else 0)
    kind = next(_classes(cluster, datasets, snapshot, claim), None)
    if kind is None or not size:
        raise ConflictError(
            f"VolumeSnapshot {name} does not show"
            f" {'how large it is' if kind else 'which storage class can restore it'}, and its PVC"
            " no longer exists.",
            "Restore it to a PVC by hand and push that PVC.",
        )
    uid = claim.uid if claim is not None else ""
    is_ours = snapshot.labels.get(labels.INSTALLATION) == cluster.installation
    kept_as = snapshot.labels.get(labels.SNAPSHOT, "") if is_ours else ""
    return PushVolume(
        snapshot.claim_name, uid, kind, size, snapshot.uid, status.creation_time, kept_as
    )


def _classes(
    cluster: Cluster,
    datasets: Datasets,
    snapshot: VolumeSnapshot,
    claim: PersistentVolumeClaim | None,
) -> Iterator[str]:
    """Storage classes of the snapshot's driver: its PVC's first, then those for caches."""
    own = (claim.spec.storage_class_name or "") if claim is not None else ""
    taken_by = cluster.view.get(SNAPSHOT_CLASSES, snapshot.spec.volume_snapshot_class_name)
    known = {each.name: each.provisioner for each in cluster.view.all(STORAGE_CLASSES)}
    if taken_by is None:
        return iter([own] if own else [])
    named = dict.fromkeys([own, *datasets.classes, *sorted(known)])
    return (each for each in named if known.get(each) == taken_by.driver)


def _refuse_unseen(cluster: Cluster, datasets: Datasets, claim: PersistentVolumeClaim) -> None:
    """ConflictError if another namespace cannot mount the PVC."""
    volume = cluster.view.get(VOLUMES, claim.spec.volume_name)
    if claim.status.phase != "Bound" or volume is None:
        raise ConflictError(
            f"PVC {claim.name} has no volume yet, so there is nothing to push.",
            "Most PVCs get their volume when the first run mounts them.",
        )
    if not _FOR_MANY_NODES & {*claim.spec.access_modes}:
        modes = ", ".join(claim.spec.access_modes) or "none"
        raise ConflictError(
            f"Only one node at a time can mount PVC {claim.name} (access modes: {modes}). A push"
            f" would also mount it in namespace {datasets.namespace}, where the stores' keys are.",
            _COPY,
        )
    form = form_of(volume, datasets.static_drivers)
    if isinstance(form, Unshareable):
        raise ConflictError(
            f"PVC {claim.name} cannot be read from namespace {datasets.namespace}, where the"
            f" stores' keys are. {form.reason}",
            _COPY,
        )


_COPY = (
    "Push a snapshot of it as `snapshot:NAME:/PATH`, or first copy the folder to a PVC that many"
    " nodes can mount, of Trident or of a driver in datasets.static_drivers."
)
