"""Reconciles caches: creates the PVC and the Job that fills it, and cleans up afterwards."""

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, Resource
from bot.datasets import bounds
from bot.datasets.caches import eviction, fsx_filling, fsx_leaving, shares
from bot.datasets.caches.cost import best_time, longest_time
from bot.datasets.caches.decision import (
    CacheObserved,
    CreateClaim,
    CreateJob,
    Decision,
    DeleteClaim,
    DeleteJob,
    Done,
    Fail,
    UpdateStatus,
    Wait,
    decide,
)
from bot.datasets.caches.fsx_volume import claim_of_import, reading_job
from bot.datasets.caches.job import JobTarget, claim_of, fill_job, layout_job
from bot.datasets.caches.lost import lost
from bot.datasets.caches.observing import observe
from bot.datasets.caches.recording import CacheFindings, record
from bot.datasets.caches.tables import CACHE, ENDS, Cache, CacheIntent, CachePhase
from bot.datasets.controller import SOON, ControllerContext, places_of
from bot.datasets.fsx.tables import Import
from bot.datasets.job import Manifest
from bot.datasets.tables import Version
from bot.errors import ClusterError, NotAllowedError, StorageError
from bot.reconcile.controller import Step, Trouble
from bot.slack.messages import refresh_cards, refresh_interval

_STARTING, _LONGEST = timedelta(seconds=10), timedelta(minutes=1)
# PVCs are watched; this covers changes that a watch missed.
_LOOK_AT_READY, _LOOK_AT_REST = timedelta(hours=1), timedelta(seconds=15)
_SHOWN_ATTEMPTS = 2
_COPYING = (CachePhase.ASKED, CachePhase.STARTING, CachePhase.FILLING)


class CacheController:
    """Reconciles the rows of caches with the cluster."""

    kind = CACHE

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def step(self, row_id: str) -> Step:
        """Takes the next step for a cache; OutsideError if the cluster or FSx refuses it."""
        cache = self._world.database.read(lambda session: session.get(Cache, row_id))
        if cache is None or cache.phase not in set(CachePhase) or cache.is_cleared:
            return Step(None)
        now = self._world.clock.now()
        if cache.is_live and cache.wanted == CacheIntent.EVICT:
            return eviction.step(self._world, cache, now)
        cluster = self._world.cluster(cache.cluster, "its caches are gone")
        coming = self._forbidden(cache, now)
        coming = coming or fsx_filling.step(self._world, cluster, cache, now)
        if coming is not None:
            return coming
        best = self._best(cache)
        seen = observe(cluster, cache)
        if cache.phase in ENDS and (self._is_shared(cache) or self._is_lost(cache)):
            decision: Decision = UpdateStatus(CachePhase(cache.phase))
        else:
            decision = self._act(cluster, cache, decide(cache, seen, best, now), best)
        if isinstance(decision, Done):
            leaving = fsx_leaving.step(self._world, cluster, cache, now)
            if leaving is not None:
                return leaving
        found = CacheFindings(decision, seen, now)
        return Step(
            self._again(cache, decision, now),
            lambda session: record(session, row_id, found, self._world.words),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows a failure on the card, from the second attempt on."""
        cache = session.get(Cache, row_id)
        if cache is None or trouble.attempts < _SHOWN_ATTEMPTS:
            return
        if cache.trouble != trouble.sentence:
            cache.trouble = trouble.sentence
            session.add(cache)
            refresh_cards(session, cache.subject, live=cache.is_live and not cache.is_ready)

    def _act(
        self, cluster: Cluster, cache: Cache, decision: Decision, best: timedelta | None
    ) -> Decision:
        """Takes the step; returns what to record."""
        match decision:
            case CreateClaim():
                body = self._claim(cluster, cache)
                return _created(cluster, PVCS, body, cache) or decision
            case CreateJob():
                body = self._job(cluster, cache, best)
                return _created(cluster, JOBS, body, cache) or decision
            case DeleteJob(uid):
                cluster.delete(JOBS, cache.job_name, cache.namespace, uid=uid)
            case DeleteClaim(uid):
                cluster.delete(PVCS, cache.claim_name, cache.namespace, uid=uid)
            case _:
                pass
        return decision

    def _forbidden(self, cache: Cache, now: datetime) -> Step | None:
        """Fails a fill that has not started if its team may no longer read the source."""
        if cache.phase not in _COPYING or cache.job_uid is not None:
            return None
        settings = self._world.settings()

        def look(session: Session) -> NotAllowedError | None:
            version = session.get_one(Version, cache.version_id)
            places_of(settings, version)  # A store that is missing for now is waited for.
            return bounds.of_version(session, settings, version)

        why = self._world.database.read(look)
        if why is None:
            return None
        found = CacheFindings(Fail(why.message, why.hint), CacheObserved(), now)
        return Step(now + SOON, lambda session: record(session, cache.id, found, self._world.words))

    def _claim(self, cluster: Cluster, cache: Cache) -> Manifest:
        made = claim_of_import if self._is_imported(cache) else claim_of
        return made(cache, cluster.installation)

    def _is_imported(self, cache: Cache) -> bool:
        """Whether FSx imports its files, instead of a Job copying them."""
        found = self._world.database.read(lambda session: session.get(Import, cache.id))
        return found is not None

    def _job(self, cluster: Cluster, cache: Cache, best: timedelta | None) -> Manifest:
        version = self._world.database.read(lambda s: s.get_one(Version, cache.version_id))
        datasets, stores = places_of(self._world.settings(), version)
        longest = round(longest_time(cache.size_bytes, best).total_seconds())
        place = JobTarget(cluster.installation, longest)
        if self._is_imported(cache):
            return reading_job(cache, version, datasets, stores, place)
        if cache.phase != CachePhase.ARRANGING:
            return fill_job(cache, version, datasets, stores, place)
        layout = datasets.layouts.get(cache.layout)
        if layout is None:
            raise StorageError(
                f"datasets.layouts.{cache.layout} is no longer in quartermaster.yaml.",
                "A platform admin must add it again.",
            )
        return layout_job(cache, layout, datasets, place)

    def _best(self, cache: Cache) -> timedelta | None:
        """How long its fill takes at the configured throughput; None if not configured."""
        datasets = self._world.settings().datasets
        kind = datasets.classes.get(cache.storage_class) if datasets is not None else None
        return best_time(cache.size_bytes, cache.capacity_bytes, kind) if kind else None

    def _is_shared(self, cache: Cache) -> bool:
        """Whether other namespaces still have a share of it."""
        return bool(self._world.database.read(lambda session: shares.live(session, cache.id)))

    def _is_lost(self, cache: Cache) -> bool:
        """Whether its volume would be kept if its PVC were deleted."""
        return bool(self._world.database.read(lambda session: lost(session, cache)))

    def _again(self, cache: Cache, decision: Decision, now: datetime) -> datetime | None:
        """When to take the next step if nothing wakes the row before."""
        match decision:
            case UpdateStatus(CachePhase.FILLING):
                return now + self._world.database.read(refresh_interval)
            case UpdateStatus(CachePhase.FAILED):
                lasted = now - (cache.ended_at or now)
                return now + min(max(_LOOK_AT_REST, lasted / 10), _LOOK_AT_READY)
            case UpdateStatus():
                return now + min(max(_STARTING, (now - cache.asked_at) / 10), _LONGEST)
            case Wait():
                return now + _LOOK_AT_READY if cache.is_live else None
            case Done():
                return None
            case _:
                return now + SOON


def _created(
    cluster: Cluster, resource: Resource[Any], body: Manifest, cache: Cache
) -> Decision | None:
    """Creates an object; if its name is taken, the next step finds out by what."""
    try:
        cluster.create(resource, body, cache.namespace)
    except ClusterError as error:
        if error.is_final:
            return Fail(error.message, error.hint)
        if error.reason == "OverQuota":
            return Fail(
                f"The namespace's ResourceQuota has no capacity for it. {error.message}",
                "Evict a cache that is not needed, then cache it again.",
                word="no_room",
            )
        if error.reason != "AlreadyExists":
            raise
    return None
