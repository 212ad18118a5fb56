"""Builds the Job of a push, which mounts the team's PVC and the keys of one store."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from bot.cluster import labels
from bot.config import Datasets, Store
from bot.datasets.job import Manifest, told, worker_job, worker_pod
from bot.datasets.tables import Push

ROOT: Final = "/data"
_VOLUME = "data"
_LEAST_PATIENCE, _USUAL_BYTES_PER_SECOND = timedelta(hours=12), 20_000_000


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
    metadata = {
        "name": push.job_name,
        "namespace": push.namespace,
        "labels": marks(push, installation),
    }
    return worker_job(metadata, pod, round(longest_time(push.capacity_bytes).total_seconds()))


def marks(push: Push, installation: str) -> dict[str, str]:
    """The labels of all objects of a push."""
    return {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.DATASET_PUSH: push.id,
        labels.TEAM: push.team,
        labels.PERSON: push.person,
    }
