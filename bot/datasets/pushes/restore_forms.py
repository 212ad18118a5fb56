"""Builds the objects through which a snapshot is read."""

from typing import Any

from bot.cluster import labels
from bot.cluster.claims import TRIDENT, StorageClass
from bot.cluster.resources import SNAPSHOT
from bot.cluster.snapshots import VolumeSnapshotContent
from bot.datasets.pushes.job import marks
from bot.datasets.tables import Push

Manifest = dict[str, Any]
_READ_ONLY, _MANY, _ONE = "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"


def content_of(push: Push, origin: VolumeSnapshotContent, installation: str) -> Manifest:
    """A second content of the driver's snapshot; deleting it does not delete that snapshot."""
    spec: Manifest = {
        "deletionPolicy": "Retain",
        "driver": origin.spec.driver,
        "source": {"snapshotHandle": origin.handle},
        "volumeSnapshotRef": {"namespace": push.namespace, "name": push.job_name},
    }
    if origin.spec.source_volume_mode:
        spec["sourceVolumeMode"] = origin.spec.source_volume_mode
    if origin.spec.volume_snapshot_class_name:
        spec["volumeSnapshotClassName"] = origin.spec.volume_snapshot_class_name
    return {"metadata": {"name": push.job_name, "labels": marks(push, installation)}, "spec": spec}


def snapshot_of(push: Push, installation: str) -> Manifest:
    """The snapshot in the namespace of datasets."""
    source = {"volumeSnapshotContentName": push.job_name}
    return {"metadata": _metadata(push, installation), "spec": {"source": source}}


def claim_of(
    push: Push, kind: StorageClass | None, mode: str | None, installation: str
) -> Manifest:
    """The PVC; `mode` is the access mode configured for its class, if any.

    Trident provides the snapshot itself as a read-only clone if it can, so that nothing is copied.
    """
    metadata = _metadata(push, installation)
    is_disk = kind is not None and kind.makes_disks
    if kind is not None and kind.provisioner == TRIDENT and not is_disk:
        metadata["annotations"] = {labels.READ_ONLY_CLONE: "true"}
        mode = _READ_ONLY
    return {
        "metadata": metadata,
        "spec": {
            "accessModes": [mode or (_ONE if is_disk else _MANY)],
            "storageClassName": push.storage_class,
            "resources": {"requests": {"storage": str(push.capacity_bytes)}},
            "dataSourceRef": {
                "apiGroup": SNAPSHOT,
                "kind": "VolumeSnapshot",
                "name": push.job_name,
            },
        },
    }


def _metadata(push: Push, installation: str) -> Manifest:
    return {
        "name": push.job_name,
        "namespace": push.namespace,
        "labels": marks(push, installation),
    }
