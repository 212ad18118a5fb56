"""Finds leftover volumes of Azure NetApp Files. They are reported, never deleted.

Azure does not report who mounts a volume (docs/decisions/0011 applies to these too).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.resources import PVCS, VOLUMES
from bot.cluster.types.claims import TRIDENT, PersistentVolume
from bot.config import Anf, Settings
from bot.database.database import Database
from bot.datasets.caches.tables import Cache, Orphan
from bot.datasets.leftovers.sources import Search, volumes_elsewhere
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import Deadline
from bot.volumes.levels import monthly_price
from bot.volumes.matching import match, named_by
from bot.volumes.resources import AnfVolume, Estate

# The step that queries Azure has 30 s in total.
_DEADLINE_SECONDS = 15.0
_READY, _RELEASED, _FAILED, _RETAIN = "Succeeded", "Released", "Failed", "Retain"
_DELETE = (
    "az netappfiles volume delete --subscription {} --resource-group {} --account-name {}"
    " --pool-name {} --name {}"
)


@dataclass(frozen=True)
class _KnownVolumes:
    """What tells to whom a volume belongs.

    `volumes` are PersistentVolumes by the ANF volume that each refers to, `made` are caches by the
    names of their PVs, `makers` are the backends of the cluster's Trident, `claims` are the uids
    of existing PVCs. `elsewhere` are ANF volumes that another cluster's PVs refer to, `doubtful`
    are those that may be others'.
    """

    volumes: Mapping[str, Sequence[PersistentVolume]]
    made: Mapping[str, str]
    makers: frozenset[str]
    claims: frozenset[str]
    elsewhere: frozenset[str]
    doubtful: frozenset[str]


class AnfOrphans:
    """Finds volumes to which only a released PersistentVolume refers, or none any more.

    A volume without a PersistentVolume counts only if it is known to be of this cluster: created
    for one of our caches, or by a backend of the cluster's Trident. None counts to which a
    PersistentVolume of another of the `clusters` refers that is not over, too.
    """

    kind = "ANF volume"

    def __init__(
        self,
        database: Database,
        files: NetAppFiles,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._database = database
        self._files = files
        self._settings = settings
        self._clusters = clusters

    def find(self, cluster: Cluster, now: datetime) -> Search:
        """The leftover volumes of a cluster; StorageError if Azure cannot be queried."""
        anf = self._settings().anf
        if anf is None:
            return Search()
        # First Azure, then the cluster: a volume created meanwhile has its PV by then.
        estate = self._files.estate(Deadline(_DEADLINE_SECONDS))
        known = self._known(cluster, estate)
        left = [
            (each, why)
            for each in estate.volumes
            if each.state == _READY
            for why in _why(each, known)
        ]
        found = [
            _orphan(each, cluster.name, why, anf, now)
            for each, why in left
            if each.id not in known.doubtful
        ]
        # One in doubt is not told, and is not known to be needed either.
        needed = frozenset(map(_uid, estate.volumes)) - {_uid(each) for each, _ in left}
        unread = " ".join(f"{each.sentence} {each.hint}".rstrip() for each in estate.unread)
        return Search(found, needed, unread)

    def remove(self, _cluster: Cluster, _orphan: Orphan) -> list[str]:
        """Deletes nothing: only people can see who mounts a volume."""
        return ["The bot does not delete volumes of Azure NetApp Files."]

    def _known(self, cluster: Cluster, estate: Estate) -> _KnownVolumes:
        volumes, there = cluster.list(VOLUMES), estate.volumes
        elsewhere = _naming(volumes_elsewhere(self._clusters, cluster), there)
        return _KnownVolumes(
            _naming(volumes, there),
            self._database.read(lambda session: _made_for_caches(session, cluster.name)),
            frozenset(_makers(volumes)),
            frozenset(each.uid for each in cluster.list(PVCS)),
            frozenset(key for key, named in elsewhere.items() if not all(map(_is_over, named))),
            _doubtful(volumes, estate),
        )


def _naming(
    volumes: Iterable[PersistentVolume], there: Sequence[AnfVolume]
) -> Mapping[str, Sequence[PersistentVolume]]:
    """The PersistentVolumes that refer to each ANF volume, by its id."""
    naming: dict[str, list[PersistentVolume]] = {}
    for volume in volumes:
        named = named_by(volume)
        found = match(named, there) if named is not None else None
        if found is not None:
            naming.setdefault(found.volume.id, []).append(volume)
    return naming


def _doubtful(volumes: Iterable[PersistentVolume], estate: Estate) -> frozenset[str]:
    """Volumes that are known by address and path only, while some subscriptions are unread.

    One of those may have a volume of the same address and path.
    """
    if not estate.unread:
        return frozenset()
    by_address = (each for each in volumes if (named := named_by(each)) and not named.id)
    return frozenset(_naming(by_address, estate.volumes))


def _makers(volumes: Sequence[PersistentVolume]) -> Iterator[str]:
    for each in volumes:
        if each.spec.csi is not None and each.spec.csi.driver == TRIDENT:
            maker = each.spec.csi.volume_attributes.get("backendUUID", "")
            if maker:
                yield maker


def _made_for_caches(session: Session, cluster: str) -> Mapping[str, str]:
    """The references of a cluster's caches that had volumes, by the names of their volumes.

    Those of other clusters have their PersistentVolumes there.
    """
    rows = session.exec(
        select(Cache.volume_name, Cache.reference).where(
            col(Cache.volume_name) != "", col(Cache.cluster) == cluster
        )
    )
    return dict(rows.all())


def _why(volume: AnfVolume, known: _KnownVolumes) -> Iterator[str]:
    """Why a volume counts as left over; one sentence or none."""
    if volume.id in known.elsewhere:
        return
    named = known.volumes.get(volume.id, ())
    if named:
        if all(map(_is_over, named)):
            yield f"PersistentVolume {named[0].name} refers to it and is {named[0].status.phase}."
        return
    if any(uid and uid in volume.path for uid in known.claims):
        return  # its PVC is there, and its PV is about to be
    cache = next((said for name, said in known.made.items() if volume.path.endswith(name)), None)
    if cache is not None:
        yield f"It was created for the cache of {cache}; its PersistentVolume was deleted."
    elif volume.maker and volume.maker in known.makers:
        yield "The cluster's Trident created it, and no PersistentVolume refers to it."


def _is_over(volume: PersistentVolume) -> bool:
    """Whether it is not bound, and its driver is not about to delete its storage."""
    keeps = volume.spec.persistent_volume_reclaim_policy == _RETAIN
    return volume.status.phase == _FAILED or (volume.status.phase == _RELEASED and keeps)


def _uid(volume: AnfVolume) -> str:
    return volume.file_system or volume.id.lower()


def _orphan(volume: AnfVolume, cluster: str, why: str, anf: Anf, now: datetime) -> Orphan:
    place = volume.place
    return Orphan(
        workspace_id="",
        cluster=cluster,
        kind=AnfOrphans.kind,
        namespace=place.pool,
        name=place.name,
        uid=_uid(volume),
        storage_class=volume.level,
        size_bytes=volume.quota_bytes,
        monthly_price=monthly_price(anf, volume.level, volume.quota_bytes),
        why=(
            f"{why} Trident keeps volumes that still have snapshots, and Azure does not report"
            " who mounts a volume. The pool is billed; it can be made smaller once the volume is"
            " deleted."
        ),
        command=_DELETE.format(*place),
        found_at=now,
    )
