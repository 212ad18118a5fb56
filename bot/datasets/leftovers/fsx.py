"""Finds leftover file systems of FSx. They are reported, never deleted.

FSx cannot prove that a file system is unused (docs/decisions/0011): it does not report who
mounts it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.config import Datasets, Settings
from bot.database.database import Database
from bot.datasets.caches.fsx.volume import DRIVER
from bot.datasets.caches.tables import Cache, Orphan
from bot.datasets.fsx.answers import GIB, FileSystem
from bot.datasets.fsx.client import Fsx
from bot.datasets.leftovers.sources import Search, volumes_elsewhere

_RELEASED, _FAILED, _RETAIN = "Released", "Failed", "Retain"
_LEAVING = "DELETING"
# A file system exists before the PersistentVolume that it is created for.
_YOUNG = timedelta(hours=1)
# The tag by which the CSI driver names the PersistentVolume that a file system is created for.
_MADE_FOR = "CSIVolumeName"
_DELETE = "aws fsx delete-file-system --region {} --file-system-id {}"


class FsxOrphans:
    """Finds file systems to which only a released PersistentVolume refers, or none any more.

    One without a PersistentVolume counts only if it is known to be of this installation: created
    for one of its caches, or tagged with its id. PersistentVolumes of all `clusters` count.
    """

    kind = "FSx file system"

    def __init__(
        self,
        database: Database,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._database = database
        self._settings = settings
        self._clusters = clusters

    def find(self, cluster: Cluster, now: datetime) -> Search:
        """The leftover file systems of a cluster; StorageError if FSx cannot be queried."""
        datasets = self._settings().datasets
        if datasets is None or datasets.fsx is None or cluster.name != datasets.cluster:
            return Search()
        with closing(Fsx(datasets.fsx)) as fsx:
            there = fsx.file_systems()
        linked = (each.fsx for each in datasets.classes.values() if each.fsx is not None)
        configured = {each.file_system for each in linked}
        elsewhere = volumes_elsewhere(self._clusters, cluster)
        volumes = _named([*cluster.list(VOLUMES), *elsewhere])
        made = self._database.read(_made_for_caches)
        # A tag does not tell in which of several clusters the PersistentVolume is.
        ours = "" if datasets.clusters else cluster.installation
        others = {name for name, each in made.items() if each.cluster != cluster.name}
        found = [
            _orphan(each, cluster.name, why, datasets, storage_class, now)
            for each in there
            if each.id not in configured
            and each.lifecycle != _LEAVING
            and now - (each.made_at or now) > _YOUNG
            and each.tags.get(_MADE_FOR) not in others
            for why, storage_class in _why(each, volumes.get(each.id, []), made, ours)
        ]
        return Search(found)

    def remove(self, _cluster: Cluster, _orphan: Orphan) -> list[str]:
        """Deletes nothing: only people can see who mounts a file system."""
        return ["The bot does not delete file systems."]


def _named(volumes: Sequence[PersistentVolume]) -> Mapping[str, list[PersistentVolume]]:
    """The PersistentVolumes that refer to each file system, by its id."""
    found: dict[str, list[PersistentVolume]] = {}
    for volume in volumes:
        csi = volume.spec.csi
        if csi is not None and csi.driver == DRIVER:
            found.setdefault(csi.volume_handle, []).append(volume)
    return found


def _made_for_caches(session: Session) -> Mapping[str, Cache]:
    """The caches that had volumes, by the names of their volumes."""
    rows = session.exec(select(Cache).where(col(Cache.volume_name) != ""))
    return {each.volume_name: each for each in rows}


def _why(
    system: FileSystem,
    named_by: Sequence[PersistentVolume],
    made: Mapping[str, Cache],
    installation: str,
) -> Iterator[tuple[str, str]]:
    """Why a file system counts as left over, and its storage class; one pair or none.

    With an `installation`, its tag is enough.
    """
    if named_by:
        released = named_by[0]
        if all(map(_is_over, named_by)):
            said = f"PersistentVolume {released.name} refers to it and is {released.status.phase}."
            yield said, released.spec.storage_class_name
        return
    volume = system.tags.get(_MADE_FOR, "")
    if volume in made:
        cache = made[volume]
        said = (
            f"It was created for the cache of {cache.reference}; its PersistentVolume was deleted."
        )
        yield said, cache.storage_class
    elif installation and system.tags.get(labels.INSTALLATION) == installation:
        yield f"It has the tag {labels.INSTALLATION}, and no PersistentVolume refers to it.", ""


def _is_over(volume: PersistentVolume) -> bool:
    """Whether it is not bound, and its driver is not about to delete its storage."""
    keeps = volume.spec.persistent_volume_reclaim_policy == _RETAIN
    return volume.status.phase == _FAILED or (volume.status.phase == _RELEASED and keeps)


def _orphan(
    system: FileSystem,
    cluster: str,
    why: str,
    datasets: Datasets,
    storage_class: str,
    now: datetime,
) -> Orphan:
    region = datasets.fsx.region if datasets.fsx is not None else ""
    price = _price(datasets, storage_class)
    return Orphan(
        workspace_id="",
        cluster=cluster,
        kind=FsxOrphans.kind,
        namespace=region,
        name=system.id,
        uid=system.arn,
        storage_class=system.storage,
        size_bytes=system.size_bytes,
        monthly_price=price * system.size_bytes / GIB if price is not None else None,
        why=f"{why} FSx does not report who mounts it.",
        command=_DELETE.format(region, system.id),
        made_at=system.made_at,
        found_at=now,
    )


def _price(datasets: Datasets, storage_class: str) -> float | None:
    known = datasets.classes.get(storage_class)
    if known is not None and known.price_per_gib_month is not None:
        return known.price_per_gib_month
    return datasets.fsx.price_per_gib_month if datasets.fsx is not None else None
