"""Objects that share a cache with a namespace: by Trident, or by a PV of the same handle."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from bot.cluster import labels
from bot.cluster.resources import STORAGE_CLASSES, VOLUMES
from bot.cluster.types.claims import NodeTerm, PersistentVolume, PersistentVolumeClaim
from bot.cluster.view import View
from bot.datasets.caches.shares.origin import Origin
from bot.datasets.caches.tables import CacheShare

Manifest = dict[str, Any]
TRIDENT = "csi.trident.netapp.io"
UNKNOWN_DRIVER = "which is not known to let several namespaces mount one volume."
ANOTHER_CLASS = (
    "If it does, a platform admin can add the driver to datasets.static_drivers. Otherwise cache it"
    " on another storage class."
)
# Only the provisioner of a volume writes this, and it is about that volume alone.
_PROVISIONER = "storage.kubernetes.io/csiProvisionerIdentity"
# These mount separately for each pod. Others mount once per node, so the options of the first
# volume would apply to all volumes with its handle.
_MOUNT_FOR_EACH_POD = frozenset(
    {"nfs.csi.k8s.io", "efs.csi.aws.com", "fsx.csi.aws.com", "fsx.openzfs.csi.aws.com"}
)
# CSI drivers have this in their names; provisioners of NFS exports and the like do not.
_CSI = ".csi."


class Storage(NamedTuple):
    """The storage class of a cache and its volume, empty until that is created."""

    storage_class: str
    volume: str = ""


class Form(StrEnum):
    """How a namespace mounts a volume that belongs to another one."""

    TRIDENT = "trident"
    STATIC = "static"


@dataclass(frozen=True)
class Unshareable:
    """Why only one namespace can mount a volume, and what to do about it, as sentences."""

    reason: str
    unblock: str


def form_of(volume: PersistentVolume, drivers: Collection[str]) -> Form | Unshareable:
    """How a volume is shared; `drivers` are those that allow two volumes of one handle."""
    csi = volume.spec.csi
    if csi is None:
        if volume.spec.nfs is not None:
            return Form.STATIC
        return Unshareable(
            f"PersistentVolume {volume.name} is neither from a CSI driver nor an NFS export, so"
            " only one namespace can mount it.",
            "Cache it on a storage class of Trident, or of a driver in datasets.static_drivers.",
        )
    if csi.driver == TRIDENT:
        return Form.TRIDENT
    if csi.driver in drivers:
        return Form.STATIC
    return Unshareable(f"It is on a volume of driver {csi.driver}, {UNKNOWN_DRIVER}", ANOTHER_CLASS)


def shared_claim(
    share: CacheShare,
    origin: Origin,
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    form: Form,
    installation: str,
) -> Manifest:
    """The PVC in the other namespace; `source` are the shared PVC and volume."""
    metadata = _metadata(share, origin.reference, installation) | {"namespace": share.namespace}
    spec: Manifest = {
        "accessModes": list(claim.spec.access_modes),
        "resources": {"requests": {"storage": _size(volume)}},
    }
    if form is Form.STATIC:
        return {
            "metadata": metadata,
            "spec": spec | {"storageClassName": "", "volumeName": share.claim_name},
        }
    metadata["annotations"] |= {labels.SHARED_FROM: f"{origin.namespace}/{origin.claim_name}"}
    return {
        "metadata": metadata,
        "spec": spec | {"storageClassName": claim.spec.storage_class_name or origin.storage_class},
    }


def shared_volume(
    share: CacheShare, dataset: str, volume: PersistentVolume, installation: str
) -> Manifest:
    """A PersistentVolume of the same handle, only for the PVC of the other namespace.

    Its reclaim policy is Retain, so that deleting the PVC never deletes the shared storage.
    """
    spec: Manifest = {
        "capacity": {"storage": _size(volume)},
        "accessModes": list(volume.spec.access_modes),
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": share.namespace,
            "name": share.claim_name,
        },
        **_source(volume),
    }
    options = _options(volume)
    if options:
        spec["mountOptions"] = options
    terms = [_term(each) for each in volume.spec.node_affinity.required.node_selector_terms]
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"metadata": _metadata(share, dataset, installation), "spec": spec}


def reference(share: CacheShare, origin: Origin, installation: str) -> Manifest:
    """The TridentVolumeReference that Trident requires before it shares with a namespace."""
    return {
        "metadata": _metadata(share, origin.reference, installation)
        | {"namespace": share.namespace},
        "spec": {"pvcName": origin.claim_name, "pvcNamespace": origin.namespace},
    }


def with_namespace(told: str, namespace: str) -> str:
    """The annotation of a shared PVC with this namespace added; Trident allows no spaces."""
    names = _named(told)
    return told if {namespace, "*"} & set(names) else ",".join([*names, namespace])


def without_namespace(told: str, namespace: str) -> str | None:
    """The annotation without this namespace; None if none is left, which removes it."""
    return ",".join(each for each in _named(told) if each != namespace) or None


def _named(told: str) -> list[str]:
    return [each for each in told.split(",") if each]


def _metadata(share: CacheShare, dataset: str, installation: str) -> Manifest:
    return {
        "name": share.claim_name,
        "labels": {
            labels.MANAGED_BY: labels.MANAGER,
            labels.INSTALLATION: installation,
            labels.DATASET_SHARE: share.id,
        },
        "annotations": {labels.PREFIX + "dataset": dataset},
    }


def _size(volume: PersistentVolume) -> str:
    return str(volume.spec.capacity["storage"].raw)


def _source(volume: PersistentVolume) -> Manifest:
    nfs, csi = volume.spec.nfs, volume.spec.csi
    if csi is None:
        exported = nfs.path if nfs is not None else ""
        return {"nfs": {"server": nfs.server if nfs else "", "path": exported, "readOnly": True}}
    attributes = {k: v for k, v in csi.volume_attributes.items() if k != _PROVISIONER}
    found: Manifest = {
        "driver": csi.driver,
        "volumeHandle": csi.volume_handle,
        "fsType": csi.fs_type,
        "volumeAttributes": attributes,
    }
    secrets = {
        "nodeStageSecretRef": csi.node_stage_secret_ref,
        "nodePublishSecretRef": csi.node_publish_secret_ref,
    }
    found |= {
        name: {"name": each.name, "namespace": each.namespace}
        for name, each in secrets.items()
        if each is not None
    }
    return {"csi": {name: value for name, value in found.items() if value}}


def _term(term: NodeTerm) -> Manifest:
    rows = term.match_expressions
    return {
        "matchExpressions": [
            {"key": row.key, "operator": row.operator}
            | ({"values": list(row.values)} if row.values else {})
            for row in rows
        ]
    }


def _options(volume: PersistentVolume) -> list[str]:
    """The mount options, with `ro` added for drivers that mount separately for each pod."""
    csi, options = volume.spec.csi, list(volume.spec.mount_options)
    if csi is not None and csi.driver in _MOUNT_FOR_EACH_POD and "ro" not in options:
        options.append("ro")
    return options


def unshareable(view: View, storage: Storage, drivers: Collection[str]) -> Unshareable | None:
    """Why only one namespace can mount it; None if others can, or if that is unknown yet.

    `drivers` are those that allow two volumes of one handle.
    """
    volume = view.get(VOLUMES, storage.volume) if storage.volume else None
    if volume is not None:
        return _of_volume(volume, drivers)
    found = view.get(STORAGE_CLASSES, storage.storage_class)
    driver = found.provisioner if found is not None else ""
    if driver in {TRIDENT, *drivers}:
        return None
    if _CSI in f".{driver}":
        what = f"Volumes of storage class {storage.storage_class} are from driver {driver}"
        return Unshareable(f"{what}, {UNKNOWN_DRIVER}", ANOTHER_CLASS)
    volume = _any_of(view, storage.storage_class)
    return _of_volume(volume, drivers) if volume is not None else None


def _of_volume(volume: PersistentVolume, drivers: Collection[str]) -> Unshareable | None:
    form = form_of(volume, drivers)
    return form if isinstance(form, Unshareable) else None


def _any_of(view: View, storage_class: str) -> PersistentVolume | None:
    """Any volume of a class, to inspect what a provisioner without CSI creates."""
    found = view.all(VOLUMES)
    return next((each for each in found if each.spec.storage_class_name == storage_class), None)
