"""The PVC of a cache, and the Job that fills it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.cluster import labels
from bot.config import Datasets, Layout, Store
from bot.datasets.caches.cost import quantity
from bot.datasets.caches.tables import Cache
from bot.datasets.job import ATTEMPTS, Manifest, told, worker_job, worker_pod
from bot.datasets.tables import Version

TARGET, FILES = "/data", "/files"
LAYOUT = "layout"
_DIGEST_SHOWN = 16
_VOLUME = "data"


@dataclass(frozen=True)
class Place:
    """Whose cluster a Job is for, and after how long it is given up."""

    installation: str
    longest_seconds: int


def claim_of(cache: Cache, installation: str) -> Manifest:
    """The PVC that a cache is kept on; many nodes mount it."""
    return {
        "metadata": metadata_of(cache, cache.claim_name, installation),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": cache.storage_class,
            "resources": {"requests": {"storage": quantity(cache.capacity_bytes)}},
        },
    }


def fill_job(
    cache: Cache, version: Version, datasets: Datasets, stores: Mapping[str, Store], place: Place
) -> Manifest:
    """The Job that copies a version onto its PVC, in several pods where that is configured."""
    used = {name: stores[name] for name in (version.store, version.manifest_store)}
    arguments = [
        *("fill", "--manifest", version.manifest),
        *("--manifest-store", told(version.manifest_store, used[version.manifest_store])),
        *("--digest", cache.digest),
        *("--source", version.source),
        *("--source-store", told(version.store, used[version.store])),
        *("--target", TARGET, "--umask", datasets.umask),
    ]
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


def layout_job(cache: Cache, layout: Layout, datasets: Datasets, place: Place) -> Manifest:
    """The Job that lets a layout rearrange what is copied, then makes that ready.

    It takes the place of the one that copied, under its name, and is told apart by its role. The
    layout sees the files and nothing else.
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
    """Where on a volume the files are that `fill --keep-open` copied; docs/datasets.md has it."""
    return f".filling-{digest.partition(':')[2][:_DIGEST_SHOWN]}/tree/files"


def metadata_of(cache: Cache, name: str, installation: str) -> Manifest:
    """What an object of a cache is called, and whose it is."""
    ours = {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.DATASET_CACHE: cache.id,
        labels.TEAM: cache.team,
        labels.PERSON: cache.person,
    }
    return {"name": name, "namespace": cache.namespace, "labels": ours}


def mount(pod: Manifest, claim: str) -> None:
    """Lets a worker's pod see a PVC; its mount is the last one of the container."""
    pod["volumes"].append({"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim}})
    pod["containers"][0]["volumeMounts"].append({"name": _VOLUME, "mountPath": TARGET})
    # To look through half a million files at each start, only to change none, takes minutes.
    pod["securityContext"]["fsGroupChangePolicy"] = "OnRootMismatch"


def give_processors(pod: Manifest, cpus: int) -> None:
    """Limits the processors of a worker's pod, which reads as many objects as these can check."""
    pod["containers"][0]["resources"]["limits"]["cpu"] = str(cpus)
