"""Runs sweeps: observes the use of caches and the capacity of their classes."""

from collections.abc import Iterable, Mapping

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import ALLOWANCES, PODS, PVCS
from bot.cluster.types.objects import Pod
from bot.cluster.view import Change
from bot.datasets.caches.classes import kept, rooms
from bot.datasets.caches.evictions import claim_usage
from bot.datasets.caches.evictions.claim_usage import look
from bot.datasets.caches.evictions.sweep import CacheUsage, ready, sweep
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import SWEEP
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import ControllerContext
from bot.reconcile.wakeups import Wakeup, cluster_lane
from bot.volumes.pools.capacity import pool_sums


class SweepController:
    """Sweeps the caches of clusters, by a schedule and when pods mount or leave a cache."""

    kind = SWEEP

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def step(self, row_id: str) -> Step:
        """One sweep; OutsideError if the cluster cannot be queried, and then nothing changes."""
        settings, cluster = self._context.settings(), self._context.clusters.get(row_id)
        if settings.datasets is None or cluster is None:
            return Step(None)
        datasets = settings.datasets.at(row_id)
        now = self._context.clock.now()
        database = self._context.database
        volumes, pools = database.read(
            lambda session: (kept(session, row_id), pool_sums(session, settings, cluster, now))
        )
        caches = database.read(
            lambda session: {
                each.id: (each, service.live(session, each.id)) for each in ready(session, row_id)
            }
        )
        allowances = cluster.list(ALLOWANCES, datasets.namespace) if volumes else ()
        room = rooms(volumes, allowances, pools, datasets)
        seen = CacheUsage(row_id, look(cluster, caches, now), room)
        mounts = claim_usage.mounts(cluster, settings, now)

        def save(session: Session) -> None:
            sweep(session, seen, settings, now)
            if mounts is not None:
                claim_usage.note(session, row_id, mounts, now)

        return Step(None, save)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Reports nothing: a cache that cannot be observed is not evicted."""


class UseWatchHandler:
    """Wakes the sweep when a pod that mounts a cache is created or deleted."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def __call__(self, change: Change) -> Iterable[Wakeup]:
        """The sweep of the pod's cluster, if the pod mounts a cache."""
        cluster = self._clusters.get(change.cluster)
        is_news = change.resource is PODS and change.kind in {"added", "deleted"}
        if cluster is None or not is_news or not self._mounts_a_cache(cluster, change.object):
            return ()
        return (Wakeup(SWEEP, cluster.name, cluster_lane(cluster.name)),)

    def _mounts_a_cache(self, cluster: Cluster, pod: Pod) -> bool:
        for name in pod.spec.claims:
            claim = cluster.view.get(PVCS, name, pod.namespace)
            marks = claim.labels if claim is not None else {}
            is_ours = marks.get(labels.INSTALLATION) == cluster.installation
            if is_ours and {labels.DATASET_CACHE, labels.DATASET_SHARE} & marks.keys():
                return True
        return False
