"""Metrics of caches: how many there are by phase, and how full their storage classes are."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import ALLOWANCES
from bot.config import Settings
from bot.datasets.caches.classes import kept, rooms
from bot.datasets.caches.tables import ENDS, CachePhase
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.volumes.pools.capacity import pool_rooms

_CACHES = GaugeSpec("quartermaster_caches", "Caches that have not ended, by phase", ("phase",))
_USED = GaugeSpec(
    "quartermaster_cache_used_bytes",
    "Space that caches and others take of a storage class, as `/dataset usage` shows it",
    ("cluster", "storage_class"),
)
_LIMIT = GaugeSpec(
    "quartermaster_cache_limit_bytes",
    "Space of a storage class for caches: capacity pool, ResourceQuota or budget",
    ("cluster", "storage_class"),
)
_LIVE = tuple(each for each in CachePhase if each not in ENDS)


def cache_gauges(settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> GaugeSource:
    """The metrics of caches; none without datasets in the settings."""

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        datasets = settings().datasets
        if datasets is None:
            return
        known = [clusters[name] for name in datasets.everywhere if name in clusters]
        caches = {each.name: kept(session, each.name) for each in known}
        phases = Counter(row.phase for rows in caches.values() for row in rows if row.is_live)
        for live in _LIVE if known else ():
            yield _CACHES.at(phases[live], live)
        for cluster in known:
            here = datasets.at(cluster.name)
            allowances = cluster.view.all(ALLOWANCES, here.namespace)
            pools = pool_rooms(session, settings(), cluster, now)
            there = rooms(caches[cluster.name], allowances, pools, here)
            for name, room in sorted(there.items()):
                yield _USED.at(room.taken, cluster.name, name)
                if room.whole is not None:
                    yield _LIMIT.at(room.whole, cluster.name, name)

    return GaugeSource((_CACHES, _USED, _LIMIT), read)
