"""Questions about caches that need live reads of the cluster; they change nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import VOLUMES
from bot.database.database import Database
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import Cache
from bot.datasets.caches.users import holding, needing_cache
from bot.datasets.fsx.tables import Import
from bot.errors import ClusterError


@dataclass(frozen=True)
class Consequence:
    """What an eviction would do: what needs the cache, and a volume that would be kept.

    If `is_imported`, FSx releases the space, independent of the volume.
    """

    users: tuple[str, ...]
    retained: str = ""
    is_imported: bool = False


class CacheReads:
    """Reads the cluster for people who decide about a cache."""

    def __init__(self, database: Database, clock: Clock, clusters: Mapping[str, Cluster]) -> None:
        self._database = database
        self._clock = clock
        self._clusters = clusters

    def consequence(self, cache: Cache) -> Consequence:
        """What evicting a cache would do now; ClusterError if a read fails."""
        cluster = self._clusters.get(cache.cluster)
        if cluster is None:
            raise ClusterError(f"Cluster {cache.cluster} is no longer in quartermaster.yaml.")
        now = self._clock.now()
        seen, held, imported = self._database.read(
            lambda session: (
                service.live(session, cache.id),
                holding(session, cache, now),
                session.get(Import, cache.id),
            )
        )
        volume = cluster.view.get(VOLUMES, cache.volume_name) if cache.volume_name else None
        is_kept = volume is not None and volume.spec.persistent_volume_reclaim_policy == "Retain"
        users = (*held, *needing_cache(cluster, cache, seen))
        if imported is not None:
            return Consequence(users, is_imported=True)
        return Consequence(users, cache.volume_name if is_kept else "")
