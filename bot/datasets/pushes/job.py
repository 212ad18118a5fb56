"""Builds the Job of a push, and the objects through which it reads a snapshot."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from bot.cluster import labels
from bot.cluster.resources import SNAPSHOT
from bot.cluster.types.claims import TRIDENT, StorageClass
from bot.cluster.types.snapshots import VolumeSnapshotContent
from bot.config import Datasets, Store
from bot.datasets.job import Manifest, told, worker_job, worker_pod
from bot.datasets.tables import Push

ROOT: Final = "/data"
_VOLUME = "data"
_LEAST_PATIENCE, _USUAL_BYTES_PER_SECOND = timedelta(hours=12), 20_000_000
_ENDS_WITHIN = timedelta(hours=1)
_READ_ONLY, _MANY, _ONE = "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"


def longest_time(capacity_bytes: int) -> timedelta:
    """The deadline of a push: 12 hours, plus three times a full volume at 20 MB/s."""
    return _LEAST_PATIENCE + 3 * timedelta(seconds=capacity_bytes / _USUAL_BYTES_PER_SECOND)


def push_job(
    push: Push, claim: str, datasets: Datasets, stores: Mapping[str, Store], installation: str
) -> Manifest:
    """The Job that uploads a folder; `claim` is the PVC in the Job's namespace."""
    arguments = [
        *("push", "--source", f"{ROOT}{push.folder}".rstrip("/")),
        *("--target", push.target),
        *("--target-store", told(push.store, stores[push.store])),
    ]
    if push.is_overwriting:
        arguments.append("--overwrite")
    pod = worker_pod(datasets, {push.store: stores[push.store]}, arguments)
    # Set twice: the first keeps the kubelet from changing the group of the files to the pod's.
    source = {"claimName": claim, "readOnly": True}
    pod["volumes"].append({"name": _VOLUME, "persistentVolumeClaim": source})
    worker = pod["containers"][0]
    worker["volumeMounts"].append({"name": _VOLUME, "mountPath": ROOT, "readOnly": True})
    worker["resources"]["limits"]["cpu"] = str(datasets.fill_cpus)
    longest = longest_time(push.capacity_bytes)
    return worker_job(_metadata(push, installation), pod, round(longest.total_seconds()))


def receive_job(
    push: Push, datasets: Datasets, stores: Mapping[str, Store], installation: str
) -> Manifest:
    """The Job that lets a person's computer push a folder, and verifies what arrives.

    The bot, which sends files of Slack in its place, reaches the stores like the Job.
    """
    used = {name: stores[name] for name in (push.store, push.box_store)}
    if push.is_drop:
        inside = {"public_endpoint": None}
        used = {name: store.model_copy(update=inside) for name, store in used.items()}
    lasts = longest_time(push.capacity_bytes)
    arguments = [
        *("receive", "--target", push.target),
        *("--target-store", told(push.store, used[push.store])),
        *("--box", push.box, "--box-store", told(push.box_store, used[push.box_store])),
        *("--lasts", f"{lasts.total_seconds():.0f}"),
    ]
    if push.is_overwriting:
        arguments.append("--overwrite")
    pod = worker_pod(datasets, used, arguments)
    # The worker ends by itself, and says why. The deadline is for one that hangs.
    deadline = round((lasts + _ENDS_WITHIN).total_seconds())
    return worker_job(_metadata(push, installation), pod, deadline)


def marks(push: Push, installation: str) -> dict[str, str]:
    """The labels of all objects of a push."""
    return {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.DATASET_PUSH: push.id,
        labels.TEAM: push.team,
        labels.PERSON: push.person,
    }


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
