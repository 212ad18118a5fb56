"""How much room storage classes have in capacity pools, by what Azure said last."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.config import Anf, Settings
from bot.volumes.matching import named_by
from bot.volumes.tables import SeenPool

# Pools are looked at every ten minutes; what nobody told for an hour is not known.
_OLD = timedelta(hours=1)


@dataclass(frozen=True)
class PoolRoom:
    """The pool of a class with the most room; `taken_bytes` is as of `seen_at`, `id` is Azure's."""

    name: str
    size_bytes: int
    taken_bytes: int
    seen_at: datetime
    id: str = field(default="", compare=False)

    @property
    def free_bytes(self) -> int:
        """What further volumes may take."""
        return max(self.size_bytes - self.taken_bytes, 0)


def pool_rooms(
    session: Session, settings: Settings, cluster: Cluster, now: datetime
) -> dict[str, PoolRoom]:
    """By storage class; a class of which no pool is known is not there.

    A volume is in one pool, so that of several pools the one with the most room counts. Of the
    database and the view alone.
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
    """By storage class what all its pools have together: how crowded it is, not what fits in.

    As old as the oldest look at one of them.
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
    """What is known of pools, by their ids in small letters; what is old is not there."""
    fresh = select(SeenPool).where(col(SeenPool.seen_at) > now - _OLD)
    return {each.id: each for each in session.exec(fresh)}


def _pools(anf: Anf, cluster: Cluster, seen: dict[str, SeenPool]) -> Iterator[tuple[str, SeenPool]]:
    """Which classes are in which pools: by the configuration, else by the volumes there are."""
    for storage_class, names in anf.classes.items():
        wanted = {each.lower() for each in names}
        yield from ((storage_class, pool) for pool in seen.values() if pool.name.lower() in wanted)
    pairs = {
        (volume.spec.storage_class_name, named.id.lower().partition("/volumes/")[0])
        for volume in cluster.view.all(VOLUMES)
        if (named := named_by(volume)) is not None and named.id
    }
    for storage_class, pool_id in sorted(pairs):
        if storage_class not in anf.classes and pool_id in seen:
            yield storage_class, seen[pool_id]
