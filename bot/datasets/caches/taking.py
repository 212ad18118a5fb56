"""Holds a cache for a user; the database decides between a hold and an eviction."""

from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col

from bot import holds
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, VersionUse
from bot.errors import ConflictError


def take(session: Session, cache: Cache, subject: tuple[str, str], why: str, now: datetime) -> None:
    """Holds a cache for a subject (kind, id); ConflictError if it is marked for eviction.

    The use is recorded permanently. Marking a cache for eviction checks for holds and changes the
    same row in its transaction, so that never both happen.
    """
    taken = session.connection().execute(
        update(Cache)
        .where(
            col(Cache.id) == cache.id,
            col(Cache.wanted) == CacheIntent.READY,
            col(Cache.ended_at).is_(None),
        )
        .values(used_at=now)
    )
    if taken.rowcount != 1:
        raise ConflictError(
            f"{cache.reference} is being evicted from {cache.storage_class}.",
            "Cache it again when its card shows Evicted.",
        )
    kind, subject_id = subject
    hold = holds.Hold(
        thing_kind=CACHE, thing_id=cache.id, subject_kind=kind, subject_id=subject_id, why=why
    )
    holds.take(session, hold)
    version_id = cache.version_id
    session.merge(
        VersionUse(version_id=version_id, subject_kind=kind, subject_id=subject_id, who=why, at=now)
    )
