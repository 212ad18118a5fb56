"""The PVC of a cache, and the Job that fills it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.cluster import labels
from bot.config import Datasets, Layout, Store
from bot.datasets.caches.plan import quantity
from bot.datasets.caches.tables import Cache
from bot.datasets.job import ATTEMPTS, Manifest, copies_of, told, worker_job, worker_pod
from bot.datasets.tables import CopyState, Version

TARGET, FILES = "/data", "/files"
LAYOUT = "layout"
_DIGEST_SHOWN = 16
_VOLUME = "data"


@dataclass(frozen=True)
class JobTarget:
    """The installation that a Job belongs to, and the time after which it is given up."""

    installation: str
    longest_seconds: int


def claim_of(cache: Cache, installation: str) -> Manifest:
    """The PVC of a cache; many nodes can mount it."""
    return {
        "metadata": metadata_of(cache, cache.claim_name, installation),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": cache.storage_class,
            "resources": {"requests": {"storage": quantity(cache.capacity_bytes)}},
        },
    }


def fill_job(
    cache: Cache,
    version: Version,
    datasets: Datasets,
    stores: Mapping[str, Store],
    place: JobTarget,
) -> Manifest:
    """The Job that copies a version or its folders to a PVC, in several pods if configured."""
    used = {name: stores[name] for name in (version.store, version.manifest_store)}
    arguments = [
        *("fill", "--manifest", version.manifest),
        *("--manifest-store", told(version.manifest_store, used[version.manifest_store])),
        *("--digest", cache.digest),
        *("--source", version.source),
        *("--source-store", told(version.store, used[version.store])),
        *("--target", TARGET, "--umask", datasets.umask),
    ]
    if version.copy_state == CopyState.MADE:
        arguments += copies_of(version, stores)
    for folder in cache.folders:
        arguments += ["--only", folder]
    if cache.layout:
        arguments.append("--keep-open")
    if datasets.shards > 1:
        arguments += ["--shards", str(datasets.shards)]
    pod = worker_pod(datasets, used, arguments)
    mount(pod, cache.claim_name)
    give_processors(pod, datasets.fill_cpus)
    metadata = metadata_of(cache, cache.job_name, place.installation)
    job = worker_job(metadata, pod, place.longest_seconds)
    if datasets.shards > 1:
        job["spec"] |= {
            "completionMode": "Indexed",
            "completions": datasets.shards,
            "parallelism": datasets.shards,
            "backoffLimit": ATTEMPTS * datasets.shards,
        }
    return job


def layout_job(cache: Cache, layout: Layout, datasets: Datasets, place: JobTarget) -> Manifest:
    """The Job that runs a layout on the copied files, then makes them ready.

    It replaces the copying Job under the same name and differs by its role label. The layout sees
    the files and nothing else.
    """
    pod = worker_pod(datasets, {}, ["finish", "--target", TARGET, "--digest", cache.digest])
    mount(pod, cache.claim_name)
    worker = pod["containers"][0]
    arranging = {key: worker[key] for key in ("resources", "securityContext")} | {
        "name": LAYOUT,
        "image": layout.image or datasets.image,
        "command": list(layout.command),
        "workingDir": FILES,
        "volumeMounts": [
            {"name": _VOLUME, "mountPath": FILES, "subPath": growing(cache.digest)},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
        ],
    }
    pod["initContainers"] = [arranging]
    metadata = metadata_of(cache, cache.job_name, place.installation)
    metadata["labels"] |= {labels.ROLE: LAYOUT}
    return worker_job(metadata, pod, place.longest_seconds)


def growing(digest: str) -> str:
    """The path on a volume of what `fill --keep-open` copied (docs/datasets.md)."""
    return f".filling-{digest.partition(':')[2][:_DIGEST_SHOWN]}/tree/files"


def metadata_of(cache: Cache, name: str, installation: str) -> Manifest:
    """The metadata of an object of a cache: name, namespace and labels."""
    ours = {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.DATASET_CACHE: cache.id,
        labels.TEAM: cache.team,
        labels.PERSON: cache.person,
    }
    return {"name": name, "namespace": cache.namespace, "labels": ours}


def mount(pod: Manifest, claim: str) -> None:
    """Mounts a PVC in a worker's pod, as the last mount of the container."""
    pod["volumes"].append({"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim}})
    pod["containers"][0]["volumeMounts"].append({"name": _VOLUME, "mountPath": TARGET})
    # Checking half a million files at each start, only to change none, takes minutes.
    pod["securityContext"]["fsGroupChangePolicy"] = "OnRootMismatch"


def give_processors(pod: Manifest, cpus: int) -> None:
    """Limits the CPUs of a worker's pod; it reads as many objects at once as they can verify."""
    pod["containers"][0]["resources"]["limits"]["cpu"] = str(cpus)
