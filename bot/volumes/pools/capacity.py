"""The free capacity of storage classes in capacity pools, as of the last read from Azure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.config import Anf, Settings
from bot.volumes.matching import named_by
from bot.volumes.resources import names_pool
from bot.volumes.tables import SeenPool

# Pools are read every ten minutes; figures older than an hour are unknown.
_OLD = timedelta(hours=1)


@dataclass(frozen=True)
class PoolRoom:
    """Capacity of a class in a pool; `taken_bytes` is as of `seen_at`, `id` is Azure's."""

    name: str
    size_bytes: int
    taken_bytes: int
    seen_at: datetime
    id: str = field(default="", compare=False)

    @property
    def free_bytes(self) -> int:
        """The capacity left for further volumes."""
        return max(self.size_bytes - self.taken_bytes, 0)


def pool_rooms(
    session: Session, settings: Settings, cluster: Cluster, now: datetime
) -> dict[str, PoolRoom]:
    """The pool with the most free capacity, by storage class; unknown classes are left out.

    A volume is in one pool, so of several pools only that one counts. Reads only the database and
    the watches.
    """
    if settings.anf is None:
        return {}
    seen = fresh_pools(session, now)
    rooms: dict[str, PoolRoom] = {}
    for storage_class, pool in _pools(settings.anf, cluster, seen):
        room = PoolRoom(pool.name, pool.size_bytes, pool.taken_bytes, pool.seen_at, pool.id)
        known = rooms.get(storage_class)
        if known is None or room.free_bytes > known.free_bytes:
            rooms[storage_class] = room
    return rooms


def pool_sums(
    session: Session, settings: Settings, cluster: Cluster, now: datetime
) -> dict[str, PoolRoom]:
    """The sum of all pools, by storage class: how full the class is, not what fits in.

    It is as old as the oldest figure in it.
    """
    if settings.anf is None:
        return {}
    found: dict[str, list[SeenPool]] = {}
    for storage_class, pool in _pools(settings.anf, cluster, fresh_pools(session, now)):
        found.setdefault(storage_class, []).append(pool)
    return {
        storage_class: PoolRoom(
            ", ".join(sorted(each.name for each in pools)),
            sum(each.size_bytes for each in pools),
            sum(each.taken_bytes for each in pools),
            min(each.seen_at for each in pools),
        )
        for storage_class, pools in found.items()
    }


def fresh_pools(session: Session, now: datetime) -> dict[str, SeenPool]:
    """The pools with recent figures, by their ids in lower case."""
    fresh = select(SeenPool).where(col(SeenPool.seen_at) > now - _OLD)
    return {each.id: each for each in session.exec(fresh)}


def _pools(anf: Anf, cluster: Cluster, seen: dict[str, SeenPool]) -> Iterator[tuple[str, SeenPool]]:
    """Storage classes with their pools: from the configuration, else from existing volumes."""
    for storage_class, names in anf.classes.items():
        for pool in seen.values():
            if any(names_pool(each, pool.name, pool.id) for each in names):
                yield storage_class, pool
    pairs = {
        (volume.spec.storage_class_name, named.id.lower().partition("/volumes/")[0])
        for volume in cluster.view.all(VOLUMES)
        if (named := named_by(volume)) is not None and named.id
    }
    for storage_class, pool_id in sorted(pairs):
        if storage_class not in anf.classes and pool_id in seen:
            yield storage_class, seen[pool_id]
