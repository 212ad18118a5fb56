"""Fills and their volumes, whose throughput is kept or boosted during the fill."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot.cluster.claims import PersistentVolumeClaim
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.slack.markup import Markup, plain
from bot.volumes.changes import boosting, keeping
from bot.volumes.changes.boosting import Boost
from bot.volumes.changes.question import Fill
from bot.volumes.records import ClaimPlace

_COPYING = (CachePhase.ASKED, CachePhase.STARTING, CachePhase.FILLING)
_GOING_ON = (*_COPYING, CachePhase.ARRANGING)


def begins(session: Session, cache: Cache) -> None:
    """Registers the fill of a cache as a use of its volume."""
    place = ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
    keeping.use(session, place, (CACHE, cache.id), f"the fill of {cache.reference}")


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
    keeping.leave(session, (CACHE, cache.id), now)


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
