"""The PersistentVolume and PVC of a cache on FSx, and the Job that reads its files once."""

from collections.abc import Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.config import Datasets, Store
from bot.datasets.caches.job import TARGET, JobTarget, give_processors, metadata_of, mount
from bot.datasets.caches.plan import quantity
from bot.datasets.caches.tables import Cache
from bot.datasets.fsx.tables import Import
from bot.datasets.job import Manifest, told, worker_job, worker_pod
from bot.datasets.tables import Version

DRIVER = "fsx.csi.aws.com"

_MANY = ["ReadWriteMany"]


def volume_of_import(cache: Cache, imported: Import, installation: str) -> Manifest:
    """A PersistentVolume of the version's folder, only for the PVC of the cache.

    The client mounts that folder as a fileset, so that the rest of the file system is not visible
    through it. Its reclaim policy is Retain, so that deleting the PVC never deletes a file system.
    """
    metadata = metadata_of(cache, cache.claim_name, installation)
    del metadata["namespace"]
    claim = {"namespace": cache.namespace, "name": cache.claim_name}
    return {
        "metadata": metadata,
        "spec": {
            "capacity": {"storage": quantity(cache.capacity_bytes)},
            "accessModes": _MANY,
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim},
            "mountOptions": ["flock"],
            "csi": {
                "driver": DRIVER,
                "volumeHandle": imported.file_system,
                "volumeAttributes": {
                    "dnsname": imported.dns_name,
                    "mountname": f"{imported.mount_name}/{imported.folder}",
                },
            },
        },
    }


def claim_of_import(cache: Cache, installation: str) -> Manifest:
    """The PVC of the imported cache, bound to that volume by name."""
    return {
        "metadata": metadata_of(cache, cache.claim_name, installation),
        "spec": {
            "accessModes": _MANY,
            "storageClassName": "",
            "volumeName": cache.claim_name,
            "resources": {"requests": {"storage": quantity(cache.capacity_bytes)}},
        },
    }


def reading_job(
    cache: Cache,
    version: Version,
    datasets: Datasets,
    stores: Mapping[str, Store],
    place: JobTarget,
) -> Manifest:
    """The Job that reads every file once, which loads it, and verifies it."""
    used = {name: stores[name] for name in (version.store, version.manifest_store)}
    arguments = [
        *("verify", "--manifest", version.manifest),
        *("--manifest-store", told(version.manifest_store, used[version.manifest_store])),
        *("--digest", cache.digest),
        *("--source", version.source),
        *("--source-store", told(version.store, used[version.store])),
        *("--target", TARGET),
    ]
    pod = worker_pod(datasets, used, arguments)
    mount(pod, cache.claim_name)
    pod["containers"][0]["volumeMounts"][-1]["readOnly"] = True
    # The owner of files comes from their objects and must not be changed.
    del pod["securityContext"]["fsGroup"], pod["securityContext"]["fsGroupChangePolicy"]
    give_processors(pod, datasets.fill_cpus)
    metadata = metadata_of(cache, cache.job_name, place.installation)
    return worker_job(metadata, pod, place.longest_seconds)


def volume_there(cluster: Cluster, cache: Cache) -> PersistentVolume | None:
    """The PersistentVolume with the name of the cache's, ours or not; None if there is none."""
    found = cluster.list(VOLUMES, fields=f"metadata.name={cache.claim_name}")
    return next(iter(found), None)
