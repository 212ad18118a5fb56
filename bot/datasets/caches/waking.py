"""Wakes what waits for a cache when it is ready, has failed or is evicted."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot import holds
from bot.datasets.caches.tables import CACHE, SHARE, Cache, CacheShare
from bot.datasets.tables import lane
from bot.reconcile.due import wake

# A pin is a hold too, but has no controller.
_LOOKED_AT = frozenset({"run"})


def wake_holders(session: Session, cache: Cache, now: datetime) -> None:
    """Makes the runs that hold the cache, and its shares, due now."""
    for hold in holds.on(session, CACHE, cache.id, now):
        if hold.subject_kind in _LOOKED_AT:
            wake(session, hold.subject_kind, hold.subject_id, lane(cache.cluster), now)
    shares = select(CacheShare).where(
        col(CacheShare.cache_id) == cache.id, col(CacheShare.ended_at).is_(None)
    )
    for share in session.exec(shares):
        wake(session, SHARE, share.id, lane(share.cluster), now)
