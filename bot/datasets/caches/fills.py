"""Fills and their volumes, whose throughput is kept or boosted during the fill."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot.cluster.cluster import Cluster
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.config import CacheClass, Settings
from bot.datasets.caches.plan import CachePlan
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.errors import ConflictError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import Markup, plain
from bot.volumes.changes import boosting, holds
from bot.volumes.changes.boost import Coming, foreseen
from bot.volumes.changes.boosting import Boost
from bot.volumes.changes.plan import ChangePlan as Change
from bot.volumes.changes.plan import goes_down
from bot.volumes.changes.replies import Fill
from bot.volumes.records import ClaimPlace

_COPYING = (CachePhase.ASKED, CachePhase.STARTING, CachePhase.FILLING)
_GOING_ON = (*_COPYING, CachePhase.ARRANGING)
_MIB, _TIB = 2**20, 2**40


@dataclass(frozen=True)
class Foreseen:
    """What a boost would do, by the last reads of Azure, and the people who may approve it.

    `earliest` is how long after its start it can be put back; None for at any time.
    """

    plan: Change
    approvers: tuple[str, ...] = ()
    earliest: timedelta | None = None


class Boosts:
    """Plans boosts from rows and the view alone; UserError says why one is impossible."""

    def __init__(self, settings: Settings, clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def offered(self, session: Session, plan: CachePlan, now: datetime) -> Foreseen:
        """The boost of a cache that is to be created."""
        size = plan.capacity_bytes
        return self._foreseen(session, plan.cluster, plan.storage_class, size, now)

    def join(self, session: Session, caller: Caller, cache: Cache, now: datetime) -> None:
        """Requests a boost for a cache that is being filled; a filled one is left unchanged."""
        is_filled = cache.phase in {CachePhase.READY, CachePhase.ARRANGING}
        is_boosted = cache.boost_by is not None and not (
            cache.boost_id is not None and boosting.is_over(session, cache.boost_id)
        )
        if is_filled or is_boosted:
            return
        if caller.team != cache.team:
            raise ConflictError(
                f"{cache.reference} is being cached by {cache.team} without a boost.",
                f"A lead of {cache.team} can boost it. Leave out --boost to use it too.",
            )
        size = cache.capacity_bytes
        found = self._foreseen(session, cache.cluster, cache.storage_class, size, now)
        cache.boost_by, cache.boost_growth_bytes = caller.person, found.plan.growth_bytes
        cache.boost_id = None
        session.add(cache)
        wake(session, CACHE, cache.id, cluster_lane(cache.cluster), now)

    def _foreseen(
        self, session: Session, cluster: str, storage_class: str, size_bytes: int, now: datetime
    ) -> Foreseen:
        settings = self._settings
        if settings.datasets is None:
            raise ConflictError("Caching is not set up here.", "See docs/datasets.md.")
        datasets = settings.datasets.at(cluster)
        kind = datasets.classes.get(storage_class)
        if kind is None:
            raise ConflictError(
                f"Storage class {storage_class} is no longer used for caching.",
                "Leave out --boost: caches in progress there are still completed.",
            )
        mibps = _told(kind, size_bytes)
        coming = Coming(storage_class, size_bytes, mibps)
        change = foreseen(session, settings, self._clusters[datasets.cluster], coming, now)
        changes = settings.anf.changes if settings.anf is not None else None
        is_down = goes_down(change.target.level, change.source.level)
        return Foreseen(
            change,
            settings.approvals.anf_change.approvers.people,
            changes.wait_before_down if is_down and changes is not None else None,
        )


def begins(session: Session, cache: Cache) -> None:
    """Registers the fill of a cache as a use of its volume."""
    place = ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
    holds.use(session, place, (CACHE, cache.id), f"the fill of {cache.reference}")


def boost(
    session: Session, cache: Cache, claim: PersistentVolumeClaim | None, now: datetime
) -> None:
    """Starts the boost of the volume, if one was requested, once the volume exists."""
    is_bound = claim is not None and claim.status.phase == "Bound" and bool(cache.volume_name)
    if cache.boost_by is None or cache.boost_id is not None or not is_bound:
        return
    if cache.phase not in _COPYING or cache.wanted != CacheIntent.READY:
        return
    wanted = Boost(
        subject=cache.subject,
        name=cache.reference,
        team=cache.team,
        person=cache.boost_by,
        channel=cache.channel,
        claim=ClaimPlace(cache.cluster, cache.namespace, cache.claim_name),
        pv_name=cache.volume_name,
        growth_bytes=cache.boost_growth_bytes,
    )
    cache.boost_id = boosting.begin(session, wanted, now)


def boost_of(session: Session, cache: Cache) -> Markup | None:
    """The progress of the boost of a cache; None if none was requested."""
    if cache.boost_by is None:
        return None
    if cache.boost_id is not None:
        return boosting.told(session, cache.boost_id)
    is_coming = cache.phase in _COPYING and cache.wanted == CacheIntent.READY
    return plain("starts when its volume exists" if is_coming else "none: it was already filled")


def ends(session: Session, cache: Cache, now: datetime) -> None:
    """Ends the use of the volume by the fill, which has ended or was given up."""
    holds.leave(session, (CACHE, cache.id), now)


def fills_on(session: Session, cluster: str, namespace: str, claim_name: str) -> tuple[Fill, ...]:
    """What is being filled on the volume of a PVC."""
    rows = session.exec(
        select(Cache).where(
            col(Cache.cluster) == cluster,
            col(Cache.namespace) == namespace,
            col(Cache.claim_name) == claim_name,
            col(Cache.phase).in_(_GOING_ON),
        )
    )
    return tuple(Fill(row.reference, row.size_bytes - row.bytes_done) for row in rows)


def _told(kind: CacheClass, size_bytes: int) -> float | None:
    """The configured throughput of a volume of a class in MiB/s; None if not configured."""
    rate = kind.throughput_mib_per_tib
    return None if rate is None else rate * size_bytes / _TIB
