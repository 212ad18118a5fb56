"""Finds volumes that are not where their PVs say, and what Trident's records say of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.cluster.cluster import Cluster
from bot.cluster.resources import TRIDENT_VOLUMES, VOLUMES
from bot.cluster.types.claims import PersistentVolume
from bot.cluster.types.trident import TridentVolume
from bot.errors import ClusterError
from bot.volumes.matching import is_of, match, named_by
from bot.volumes.resources import AnfVolume, same_id
from bot.volumes.tables import MovedVolume

# These are no longer bound to a PVC, and another PVC may have its name.
_LEFT = frozenset({"Released", "Failed"})


@dataclass(frozen=True)
class Record:
    """Trident's record of a volume; `unread` says why the bot could not read it.

    The id is empty if Trident's is, which Trident fills in by itself.
    """

    id: str = ""
    unread: str = ""
    source: str = ""

    def is_stale(self, current_id: str) -> bool:
        """Whether Trident has another id than the current one; an unread record counts as stale."""
        return bool(self.unread) or not (self.id == "" or same_id(self.id, current_id))


def moved_volumes(
    cluster: Cluster, namespace: str, volumes: Sequence[AnfVolume], now: datetime
) -> list[MovedVolume] | None:
    """The moved volumes of a cluster; None while its PVs have not been read."""
    if not cluster.view.store(VOLUMES).synced:
        return None
    records = Records(cluster, namespace)
    return [
        row_of(cluster.name, volume, told, found, records.of(volume.name), now)
        for volume, told, found in _moved(cluster, volumes)
    ]


class Records:
    """Trident's records in one cluster; after an error it is not asked again."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._unread = ""

    def of(self, name: str) -> Record:
        """The record of a PV's volume, or of the volume that the PV shares."""
        if self._unread:
            return Record(unread=self._unread)
        try:
            return self._read(name)
        except ClusterError as error:
            self._unread = error.message
            return Record(unread=error.message)

    def _read(self, name: str) -> Record:
        found = self.get(name)
        source = found.config.share_source_volume if found is not None else ""
        if source:
            found = self.get(source)
        if found is None:
            missing = f"Trident has no TridentVolume {source or name} in namespace"
            return Record(unread=f"{missing} {self._namespace}.", source=source)
        return Record(found.config.internal_id, source=source)

    def get(self, name: str) -> TridentVolume | None:
        """One record, live; raises ClusterError if it cannot be read."""
        return self._cluster.get(TRIDENT_VOLUMES, name, self._namespace)


def row_of(
    cluster: str, volume: PersistentVolume, told: str, current: str, record: Record, now: datetime
) -> MovedVolume:
    """The row of a moved volume: `told` is the id in its PV, `current` its id in Azure."""
    claim = volume.spec.claim_ref
    return MovedVolume(
        cluster=cluster,
        volume_name=volume.name,
        namespace=claim.namespace if claim else "",
        claim_name=claim.name if claim else "",
        told_id=told,
        current_id=current,
        recorded_id=record.id,
        unread=record.unread,
        source=record.source,
        is_stale=record.is_stale(current),
        seen_at=now,
    )


def _moved(
    cluster: Cluster, volumes: Sequence[AnfVolume]
) -> Iterator[tuple[PersistentVolume, str, str]]:
    """Trident's PVs of moved volumes, each with the id in the PV and the current id."""
    known: Mapping[str, AnfVolume] = {each.id.lower(): each for each in volumes}
    for volume in cluster.view.all(VOLUMES):
        named = named_by(volume)
        if named is None or not named.id or volume.status.phase in _LEFT:
            continue
        there = known.get(named.id.lower())
        found = None if there and is_of(named, there) else match(named, volumes)
        if found is not None and found.is_moved:
            yield volume, named.id, found.volume.id
