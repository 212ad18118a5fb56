"""What Trident makes of Azure NetApp Files: a volume, its record, and the PV and PVC of it."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from playground.arm.errors import ArmError
from playground.arm.estate import GIB, Estate, Pool, Volume
from playground.arm.rules import LEAST_VOLUME, refuse_quota
from playground.cluster.cluster import Cluster
from playground.cluster.control.training import Training
from playground.cluster.objects.kinds import POD, TRIDENT_VOLUME

DRIVER = "csi.trident.netapp.io"
HOME, CONTROLLER = "trident", "trident-controller"
IMAGE = "docker.io/netapp/trident:26.06.0"
CLASS, BACKEND = "azurenetappfiles", "6f0e7a4e-3f6b-4a44-9d3e-0f5a3c1d2b11"


def storage_class(name: str = CLASS) -> dict[str, Any]:
    """A class of Trident's whose volumes are of Azure NetApp Files."""
    return {
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "parameters": {"backendType": "azure-netapp-files"},
        "allowVolumeExpansion": True,
    }


@dataclass(frozen=True)
class Wanted:
    """A PVC, and how large; `policy` is what becomes of its volume when it is gone."""

    namespace: str
    name: str
    gibibytes: int
    policy: str = "Delete"


def provision(cluster: Cluster, estate: Estate, pool: Pool, wanted: Wanted) -> Volume:
    """A volume that Trident made for a PVC, both bound to each other."""
    install(cluster)
    name, size = f"pvc-{uuid.uuid4()}", wanted.gibibytes * GIB
    made = make_volume(estate, pool, name, size)
    told = attributes(estate, made, name)
    csi = {"driver": DRIVER, "volumeHandle": name, "volumeAttributes": told}
    _bind(cluster, (name, {"csi": csi}), wanted)
    cluster.create("tridentvolumes", record(name, told, size), HOME)
    cluster.inside.claims.growers[DRIVER] = Growing(cluster, estate)
    return made


def employ(cluster: Cluster, estate: Estate, pool: Pool) -> None:
    """Has Trident make the volumes of new PVCs in a pool from now on."""
    install(cluster)
    claims, operations = cluster.inside.claims, cluster.inside.operations

    def make(name: str, size: int) -> dict[str, str]:
        made = make_volume(estate, pool, name, size)
        told = attributes(estate, made, name)
        operations.create(TRIDENT_VOLUME, HOME, record(name, told, made.quota))
        return told

    claims.makers[DRIVER] = make
    claims.growers[DRIVER] = Growing(cluster, estate)


def make_volume(estate: Estate, pool: Pool, name: str, size: int) -> Volume:
    """The volume for a PV of that name, at least as large as Azure makes them."""
    made = estate.add_volume(pool, f"trident-{name}", max(size, LEAST_VOLUME))
    note = {"trident": {"version": "26.6.0", "backendUUID": BACKEND, "platform": "kubernetes"}}
    made.tags["trident"] = json.dumps(note, separators=(",", ":"))
    return made


def attributes(estate: Estate, made: Volume, name: str) -> dict[str, str]:
    """What the PV of a volume tells of it."""
    return {
        "backendUUID": BACKEND,
        "name": name,
        "internalName": made.path,
        "internalID": estate.volume_id(made),
        "protocol": "file",
    }


def record(name: str, told: dict[str, str], size: int) -> dict[str, Any]:
    """Trident's own record of a volume that it made, its TridentVolume."""
    return {
        "metadata": {"name": name, "finalizers": ["trident.netapp.io"]},
        "config": {"version": "1", **told, "size": str(size)},
        "backendUUID": BACKEND,
        "pool": "pool",
        "orphaned": False,
        "state": "online",
    }


class Growing:
    """Makes volumes larger, where Trident knows that they are.

    It reads its records when its controller starts, and of what it knows never again.
    """

    def __init__(self, cluster: Cluster, estate: Estate) -> None:
        self._cluster = cluster
        self._estate = estate
        self._read_by = ""
        self._known: dict[str, str] = {}

    def __call__(self, name: str, size: int) -> str:
        """Grows a volume; why it cannot, in Trident's words, or nothing."""
        self._read()
        place = self._known.get(name, "").lower()
        for each in self._estate.volumes:
            if self._estate.volume_id(each).lower() == place:
                try:
                    refuse_quota(self._estate, each, max(size, LEAST_VOLUME))
                except ArmError as error:
                    return error.message
                each.quota = max(size, LEAST_VOLUME)
                return ""
        return f"could not find volume {name}"

    def _read(self) -> None:
        """What its controller read when it started, if another one runs by now; and what is new."""
        inside = self._cluster.inside
        pods = inside.store.all(POD, HOME)
        running = next((p for p in pods if p.get("status", {}).get("phase") == "Running"), None)
        uid = running["metadata"]["uid"] if running is not None else "none yet"
        rows = inside.store.all(TRIDENT_VOLUME, HOME)
        there = {r["metadata"]["name"]: r["config"].get("internalID", "") for r in rows}
        self._known = there if uid != self._read_by else there | self._known
        self._read_by = uid


def install(cluster: Cluster) -> None:
    """Trident itself, unless it is there: its kinds, and its controller."""
    cluster.install("trident")
    if cluster.get("namespaces", HOME) is not None:
        return
    cluster.create("namespaces", {"metadata": {"name": HOME}})
    container = {"name": "trident-main", "image": IMAGE}
    labels = {"app": f"controller.{DRIVER}"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    cluster.inside.behaviours[IMAGE] = Training(never_ends=True, silent=True)
    cluster.create("deployments", {"metadata": {"name": CONTROLLER}, "spec": spec}, HOME)


def export(cluster: Cluster, volume: Volume, name: str, wanted: Wanted) -> None:
    """A PV that somebody wrote by hand for a volume, with its PVC."""
    nfs = {"server": volume.address, "path": f"/{volume.path}"}
    _bind(cluster, (name, {"nfs": nfs}), wanted)


def _bind(cluster: Cluster, made: tuple[str, dict[str, Any]], wanted: Wanted) -> None:
    name, source = made
    size = {"storage": f"{wanted.gibibytes}Gi"}
    shared = {"accessModes": ["ReadWriteMany"], "storageClassName": CLASS}
    claim_ref = {"namespace": wanted.namespace, "name": wanted.name}
    spec = {
        **shared,
        **source,
        "capacity": size,
        "persistentVolumeReclaimPolicy": wanted.policy,
        "claimRef": claim_ref,
    }
    cluster.create("persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    claim = {**shared, "resources": {"requests": size}, "volumeName": name}
    body = {"metadata": {"name": wanted.name}, "spec": claim}
    cluster.create("persistentvolumeclaims", body, wanted.namespace)
