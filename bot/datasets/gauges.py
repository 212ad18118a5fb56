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
    ("storage_class",),
)
_LIMIT = GaugeSpec(
    "quartermaster_cache_limit_bytes",
    "Space of a storage class for caches: capacity pool, ResourceQuota or budget",
    ("storage_class",),
)
_LIVE = tuple(each for each in CachePhase if each not in ENDS)


def cache_gauges(settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> GaugeSource:
    """The metrics of caches; none without datasets in the settings."""

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        datasets = settings().datasets
        cluster = clusters.get(datasets.cluster) if datasets is not None else None
        if datasets is None or cluster is None:
            return
        caches = kept(session, datasets.cluster)
        phases = Counter(each.phase for each in caches if each.is_live)
        for live in _LIVE:
            yield _CACHES.at(phases[live], live)
        allowances = cluster.view.all(ALLOWANCES, datasets.namespace)
        pools = pool_rooms(session, settings(), cluster, now)
        for name, room in sorted(rooms(caches, allowances, pools, datasets).items()):
            yield _USED.at(room.taken, name)
            if room.whole is not None:
                yield _LIMIT.at(room.whole, name)

    return GaugeSource((_CACHES, _USED, _LIMIT), read)
