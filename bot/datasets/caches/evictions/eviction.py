"""Evicts a marked cache: checks for users again, then deletes shares, Job, PVC and volume."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PODS, PVCS
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import Job
from bot.datasets.caches.evictions import marking
from bot.datasets.caches.evictions.marking import Parting
from bot.datasets.caches.finding import lost
from bot.datasets.caches.fsx import leaving as fsx_leaving
from bot.datasets.caches.observe import is_ours, volume_of
from bot.datasets.caches.shares import service as sharing
from bot.datasets.caches.tables import ENDS, Cache, CachePhase, CacheShare
from bot.datasets.caches.users import OVER, Place, holding, mounts, needing_cache, places
from bot.datasets.fsx.tables import Import
from bot.datasets.wording import capacity
from bot.reconcile.controller import Step
from bot.reconcile.frame import SOON, ControllerContext

_SHARES, _VOLUME, _USERS = timedelta(seconds=10), timedelta(seconds=15), timedelta(minutes=1)
_PATIENCE = timedelta(minutes=2)
_RETAIN = "Retain"


@dataclass(frozen=True)
class _CacheObjects:
    """The objects of a cache that still exist in the cluster."""

    job: Job | None
    claim: PersistentVolumeClaim | None
    volume: PersistentVolume | None


def step(context: ControllerContext, cache: Cache, now: datetime) -> Step:
    """The next step of an eviction; OutsideError if the cluster or FSx refuses it."""
    if cache.phase in ENDS:
        return Step(None)
    cluster = context.cluster(cache.cluster, "its caches are gone")
    stays = context.database.read(lambda session: lost(session, cache))
    if stays:
        return _wait(cache, now + _USERS, stays)
    shares = context.database.read(lambda session: sharing.live(session, cache.id))
    if cache.phase != CachePhase.EVICTING:
        users = _users(context, cluster, cache, list(shares), now)
        if users:
            return Step(now, lambda session: marking.call_off(session, cache.id, users, now))
        return Step(now, lambda session: marking.begin(session, cache.id, now))
    if shares:
        clear_ended_runs(cluster, places(cache, shares))
        names = ", ".join(sorted(each.namespace for each in shares))
        why = dict.fromkeys(each.trouble for each in shares if each.trouble)
        return _wait(
            cache, now + _SHARES, " ".join([f"Its shares are deleted first: {names}.", *why])
        )
    seen = _look(cluster, cache)
    if seen.claim is not None and seen.claim.metadata.deletion_timestamp is None:
        return _take_away(context, cluster, cache, seen, now)
    if seen.job is not None:
        cluster.delete(JOBS, cache.job_name, cache.namespace, uid=seen.job.uid)
        return Step(now + SOON)
    return _watch_it_go(context, cluster, cache, seen, now)


def _take_away(
    context: ControllerContext, cluster: Cluster, cache: Cache, seen: _CacheObjects, now: datetime
) -> Step:
    """Deletes Job and PVC unless something uses the cache, which cancels the eviction."""
    claim = seen.claim
    users = _users(context, cluster, cache, [], now)
    if users and cache.ready_at is not None:
        return Step(now, lambda session: marking.call_off(session, cache.id, users, now))
    if users:
        return _wait(cache, now + _USERS, " ".join(users))
    if seen.job is not None:
        cluster.delete(JOBS, cache.job_name, cache.namespace, uid=seen.job.uid)
    elif claim is not None and claim.spec.volume_name != cache.volume_name:
        named = partial(marking.remember_volume, cache_id=cache.id, name=claim.spec.volume_name)
        return Step(now, named)
    elif claim is not None:
        cluster.delete(PVCS, cache.claim_name, cache.namespace, uid=claim.uid)
    return Step(now + SOON)


def _watch_it_go(
    context: ControllerContext, cluster: Cluster, cache: Cache, seen: _CacheObjects, now: datetime
) -> Step:
    """Waits until the volume is deleted: only then is its space free."""
    if seen.claim is not None:
        clear_ended_runs(cluster, places(cache, ()))
        users = needing_cache(cluster, cache, []) if now - cache.since > _PATIENCE else []
        return _wait(cache, now + _VOLUME, " ".join(users))
    leaving = fsx_leaving.step(context, cluster, cache, now)
    if leaving is not None:
        return leaving
    imported = context.database.read(lambda session: session.get(Import, cache.id))
    if imported is not None:
        return _finish(cache, _parting(cache, imported), now)
    volume = seen.volume
    if volume is None:
        freed = cache.capacity_bytes if cache.volume_name else 0
        return _finish(cache, Parting(freed), now)
    if volume.spec.persistent_volume_reclaim_policy == _RETAIN:
        return _finish(cache, Parting(0, volume.name), now)
    why = f" ({volume.status.message})" if volume.status.message else ""
    obstacle = (
        f"Its PVC is deleted, but volume {volume.name} is still {volume.status.phase}{why}:"
        f" {capacity(cache.capacity_bytes)} are not freed yet."
    )
    return _wait(cache, now + _VOLUME, obstacle if now - cache.since > _PATIENCE else "")


def _parting(cache: Cache, imported: Import) -> Parting:
    """What FSx released: the space of files, never a volume."""
    if imported.kept:
        return Parting(
            None, f"Not everything was released on {imported.file_system}: {imported.kept}"
        )
    if imported.imported_at is None:
        return Parting(0)
    return Parting(cache.capacity_bytes)


def _look(cluster: Cluster, cache: Cache) -> _CacheObjects:
    job = cluster.get(JOBS, cache.job_name, cache.namespace)
    claim = cluster.get(PVCS, cache.claim_name, cache.namespace)
    if job is not None and not is_ours(job, cache, cache.job_uid, cluster.installation):
        job = None
    if claim is not None and not is_ours(claim, cache, cache.claim_uid, cluster.installation):
        claim = None
    volume = volume_of(cluster, cache) if claim is None else None
    return _CacheObjects(job, claim, volume)


def _users(
    context: ControllerContext,
    cluster: Cluster,
    cache: Cache,
    shares: list[CacheShare],
    now: datetime,
) -> list[str]:
    """What uses the cache: by the rows first, then by live reads of the cluster."""
    held = context.database.read(lambda session: holding(session, cache, now))
    return held + needing_cache(cluster, cache, shares)


def _wait(cache: Cache, again: datetime, obstacle: str) -> Step:
    return Step(again, lambda session: marking.waiting(session, cache.id, obstacle))


def _finish(cache: Cache, parting: Parting, now: datetime) -> Step:
    return Step(None, lambda session: marking.finish(session, cache.id, parting, now))


def clear_ended_runs(cluster: Cluster, seen: Collection[Place]) -> None:
    """Deletes our ended workloads whose finished pods mount these PVCs, with those pods.

    Kubernetes does not delete a PVC that a pod mounts, even a finished one, and pods of runs are
    kept for days so that their logs can be read. A cache being evicted is not held by a live run,
    so all our pods that mount it have ended.
    """
    for namespace in sorted({each for each, _ in seen}):
        runs = {
            pod.labels[labels.RUN]
            for pod in cluster.list(PODS, namespace)
            if pod.status.phase in OVER
            and mounts(pod, seen)
            and labels.RUN in pod.labels
            and pod.labels.get(labels.INSTALLATION) == cluster.installation
        }
        for run_id in sorted(runs):
            for resource, root in _ended_roots(cluster, run_id):
                cluster.delete(resource, root.name, root.namespace, uid=root.uid)


def _ended_roots(cluster: Cluster, run_id: str) -> Iterator[tuple[Any, Any]]:
    for resource, has_ended in cluster.workloads.items():
        for root in cluster.view.labelled(resource, labels.RUN, run_id):
            is_ours = root.labels.get(labels.INSTALLATION) == cluster.installation
            if is_ours and has_ended(root):
                yield resource, root
