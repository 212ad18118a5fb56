"""Reconciles caches: creates the PVC and the Job that fills it, and cleans up afterwards."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PVCS, Resource
from bot.datasets import bounds
from bot.datasets.caches.adoption.record import recorded
from bot.datasets.caches.decide import (
    CacheObserved,
    CreateClaim,
    CreateJob,
    Decision,
    DeleteClaim,
    DeleteJob,
    RecordObserved,
    decide,
)
from bot.datasets.caches.evictions import eviction
from bot.datasets.caches.finding import lost
from bot.datasets.caches.fsx import filling
from bot.datasets.caches.fsx import leaving as fsx_leaving
from bot.datasets.caches.fsx.volume import claim_of_import, reading_job
from bot.datasets.caches.job import JobTarget, claim_of, fill_job, layout_job
from bot.datasets.caches.observe import observe
from bot.datasets.caches.plan import best_time, longest_time
from bot.datasets.caches.record import CacheFindings, record
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CACHE, ENDS, Cache, CacheIntent, CachePhase
from bot.datasets.fsx.tables import Import
from bot.datasets.job import Manifest
from bot.datasets.tables import Version
from bot.datasets.versions.controller import FIRST_LOOK, places_of
from bot.errors import NotAllowedError, StorageError
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.decisions import Done, Fail, UpdateStatus
from bot.reconcile.frame import SOON, Reconciler, create_once, note_failure, slower
from bot.reconcile.labelled import LabelledObjects
from bot.slack.messages import refresh_interval

_OVER_QUOTA = "OverQuota"
# PVCs are watched; this covers changes that a watch missed.
_LOOK_AT_READY, _LOOK_AT_REST = timedelta(hours=1), timedelta(seconds=15)
_COPYING = (CachePhase.ASKED, CachePhase.STARTING, CachePhase.FILLING)


cache_changes = partial(
    LabelledObjects, kind=CACHE, label=labels.DATASET_CACHE, resources=(JOBS, PVCS)
)
"""Wakes caches when their PVCs or Jobs change, found by our label."""


class CacheController(Reconciler[Cache, CacheObserved, Decision]):
    """Reconciles the rows of caches with the cluster."""

    kind = CACHE
    table, phases = Cache, CachePhase

    @override
    def reconcile(self, row: Cache, now: datetime) -> Step:
        """Evicts a marked cache, and imports one on FSx; all others are filled by a Job."""
        if row.is_live and row.wanted == CacheIntent.EVICT:
            return eviction.step(self._context, row, now)
        cluster = self._cluster(row)
        coming = self._forbidden(row, now)
        coming = coming or filling.step(self._context, cluster, row, now)
        return coming or super().reconcile(row, now)

    @override
    def observe(self, row: Cache, now: datetime) -> CacheObserved:
        return observe(self._cluster(row), row)

    @override
    def decide(self, row: Cache, observed: CacheObserved, now: datetime) -> Decision:
        """A failed cache that is shared, or whose volume would be kept, is left as it is."""
        if row.phase in ENDS and (self._is_shared(row) or self._is_lost(row)):
            return UpdateStatus(CachePhase(row.phase))
        return decide(row, observed, self._best(row), now)

    @override
    def act(self, row: Cache, observed: CacheObserved, decision: Decision) -> Decision:
        cluster = self._cluster(row)
        match decision:
            case CreateClaim():
                body = self._claim(cluster, row)
                return _created(cluster, PVCS, body, row) or decision
            case CreateJob():
                body = self._job(cluster, row)
                return _created(cluster, JOBS, body, row) or decision
            case DeleteJob(uid):
                cluster.delete(JOBS, row.job_name, row.namespace, uid=uid)
            case DeleteClaim(uid):
                cluster.delete(PVCS, row.claim_name, row.namespace, uid=uid)
            case _:
                pass
        return decision

    @override
    def outcome(self, row: Cache, found: CacheFindings) -> Step:
        """After its PVC, what FSx holds for it is deleted."""
        if isinstance(found.decision, Done):
            leaving = fsx_leaving.step(self._context, self._cluster(row), row, found.now)
            if leaving is not None:
                return leaving
        return super().outcome(row, found)

    @override
    def record(self, session: Session, row: Cache, found: CacheFindings) -> None:
        record(session, row.id, found, self._context.format_command)

    @override
    def next_look(self, row: Cache, found: CacheFindings) -> datetime | None:
        now = found.now
        match found.decision:
            case UpdateStatus(CachePhase.FILLING):
                return now + self._context.database.read(refresh_interval)
            case UpdateStatus(CachePhase.FAILED):
                return slower(row.ended_at or now, now, _LOOK_AT_REST, _LOOK_AT_READY)
            case UpdateStatus():
                return slower(row.asked_at, now, FIRST_LOOK)
            case RecordObserved():
                return now + _LOOK_AT_READY if row.is_live else None
            case Done():
                return None
            case _:
                return now + SOON

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        cache = session.get(Cache, row_id)
        is_filling = cache is not None and cache.is_live and not cache.is_ready
        note_failure(session, cache, trouble, live=is_filling)

    def _cluster(self, cache: Cache) -> Cluster:
        return self._context.cluster(cache.cluster, "its caches are gone")

    def _forbidden(self, cache: Cache, now: datetime) -> Step | None:
        """Fails a fill that has not started if its team may no longer read the source."""
        if cache.phase not in _COPYING or cache.job_uid is not None:
            return None
        settings = self._context.settings()

        def look(session: Session) -> NotAllowedError | None:
            version = session.get_one(Version, cache.version_id)
            places_of(settings, version)  # A store that is missing for now is waited for.
            return bounds.of_version(session, settings, version)

        why = self._context.database.read(look)
        if why is None:
            return None
        found = CacheFindings(Fail(why.message, why.hint), CacheObserved(), now)
        return Step(
            now + SOON,
            lambda session: record(session, cache.id, found, self._context.format_command),
        )

    def _claim(self, cluster: Cluster, cache: Cache) -> Manifest:
        if self._is_imported(cache):
            return claim_of_import(cache, cluster.installation)
        body = claim_of(cache, cluster.installation)
        said = self._context.database.read(lambda session: recorded(session, cache))
        body["metadata"]["annotations"] = {labels.RECORD: said}
        return body

    def _is_imported(self, cache: Cache) -> bool:
        """Whether FSx imports its files, instead of a Job copying them."""
        found = self._context.database.read(lambda session: session.get(Import, cache.id))
        return found is not None

    def _job(self, cluster: Cluster, cache: Cache) -> Manifest:
        version = self._context.database.read(lambda s: s.get_one(Version, cache.version_id))
        datasets, stores = places_of(self._context.settings(), version)
        datasets = datasets.at(cache.cluster)
        longest = round(longest_time(cache.size_bytes, self._best(cache)).total_seconds())
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
        datasets = self._context.settings().datasets
        classes = datasets.at(cache.cluster).classes if datasets is not None else {}
        kind = classes.get(cache.storage_class)
        return best_time(cache.size_bytes, cache.capacity_bytes, kind) if kind else None

    def _is_shared(self, cache: Cache) -> bool:
        """Whether other namespaces still have a share of it."""
        return bool(self._context.database.read(lambda session: service.live(session, cache.id)))

    def _is_lost(self, cache: Cache) -> bool:
        """Whether its volume would be kept if its PVC were deleted."""
        return bool(self._context.database.read(lambda session: lost(session, cache)))


def _created(
    cluster: Cluster, resource: Resource[Any], body: Manifest, cache: Cache
) -> Decision | None:
    """Creates an object; if its name is taken, the next step finds out by what."""
    refusal = create_once(cluster, resource, body, cache.namespace, hopeless={_OVER_QUOTA})
    if refusal is None:
        return None
    if refusal.reason == _OVER_QUOTA:
        return Fail(
            f"The namespace's ResourceQuota has no capacity for it. {refusal.message}",
            "Evict a cache that is not needed, then cache it again.",
            word="no_room",
        )
    return Fail(refusal.message, refusal.hint)
