"""The owner of an object in a team's namespace, by its labels: the team, or someone else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.cluster import labels
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.view import View
from bot.masking import without_mentions

_OF_TEAMS = (labels.RUN, labels.RESTORE, labels.PVC_COPY)
_OF_CACHES = (labels.DATASET_CACHE, labels.DATASET_SHARE)
_NFS_DRIVER = "nfs.csi.k8s.io"
_DATASET = labels.PREFIX + "dataset"


@dataclass(frozen=True)
class Foreign:
    """Why a team may not use a PVC, as a sentence; `dataset` is what the PVC shows, if known."""

    reason: str
    dataset: str = ""


def is_managed(marks: Mapping[str, str]) -> bool:
    """Whether the labels show that any installation of Quartermaster created the object."""
    is_ours = marks.get(labels.MANAGED_BY) == labels.MANAGER
    return is_ours or any(key.startswith(labels.PREFIX) for key in marks)


def foreign_claim(claim: PersistentVolumeClaim, team: str) -> Foreign | None:
    """Why a PVC does not belong to the team by its own labels, None if it does.

    What was made for the team's runs, from its snapshots and from its PVCs is the team's, and so is
    what has none of our labels.
    """
    if not is_managed(claim.labels):
        return None
    if shows_cache(claim.labels):
        dataset = without_mentions(claim.metadata.annotations.get(_DATASET, ""))
        of = f"dataset {dataset}" if dataset else "a dataset"
        return Foreign(f"PVC {claim.name} shows the cache of {of}, which is shared.", dataset)
    owner = claim.labels.get(labels.TEAM)
    if owner is None or not any(each in claim.labels for each in _OF_TEAMS):
        return Foreign(f"PVC {claim.name} belongs to Quartermaster itself.")
    return None if owner == team else Foreign(f"PVC {claim.name} was created for team {owner}.")


def cache_alias(
    claim: PersistentVolumeClaim, volume: PersistentVolume | None, view: View
) -> Foreign | None:
    """Why a PVC does not belong to the team despite its labels: its `volume` is a cache's."""
    namespace, _, name = claim.metadata.annotations.get(labels.SHARED_FROM, "").partition("/")
    origin = view.get(PVCS, name, namespace) if name else None
    is_shared = origin is not None and shows_cache(origin.labels)
    if is_shared or (volume is not None and _address(volume) in _cached(view)):
        return Foreign(f"PVC {claim.name} is on the volume of a dataset's cache, which is shared.")
    return None


def shows_cache(marks: Mapping[str, str]) -> bool:
    """Whether labels say that a PVC is a dataset's cache, or shows one in a team's namespace."""
    return any(each in marks for each in _OF_CACHES)


def _cached(view: View) -> set[tuple[str, ...]]:
    """The storage addresses of the caches' volumes."""
    claims = [each for each in view.all(PVCS) if shows_cache(each.labels)]
    volumes = [view.get(VOLUMES, each.spec.volume_name) for each in claims]
    found = _addresses(each for each in volumes if each is not None)
    # A volume that was made for a cache names a file system, on which others are, too.
    return found - _addresses(
        each for each in view.all(VOLUMES) if labels.DATASET_CACHE in each.labels
    )


def _addresses(volumes: Iterable[PersistentVolume]) -> set[tuple[str, ...]]:
    return {found for each in volumes if (found := _address(each)) is not None}


def _address(volume: PersistentVolume) -> tuple[str, ...] | None:
    """The storage address of a volume, if it shows one; equal addresses share their data."""
    csi, nfs = volume.spec.csi, volume.spec.nfs
    if nfs is not None:
        return _exported(nfs.server, nfs.path)
    if csi is None:
        return None
    if csi.driver == _NFS_DRIVER:
        told = csi.volume_attributes
        return _exported(told.get("server", ""), told.get("share", ""), told.get("subdir", ""))
    return (csi.driver, csi.volume_handle) if csi.volume_handle else None


def _exported(server: str, *folders: str) -> tuple[str, ...] | None:
    path = "/".join(each.strip("/") for each in folders if each.strip("/"))
    return ("nfs", server, path) if server else None
