"""Caches whose volumes Trident cannot find because they were moved in Azure."""

from sqlmodel import Session

from bot.datasets.caches.tables import Cache
from bot.volumes.records import ClaimPlace, refuse_stale, stale, why_it_stays


def refuse_lost(session: Session, cache: Cache, doing: str) -> None:
    """ConflictError if a cache is lost; `doing` completes "It cannot be ..."."""
    refuse_stale(session, _place(cache), doing)


def lost(session: Session, cache: Cache) -> str:
    """Why a lost cache must not be deleted, as a sentence; empty if it is not lost."""
    found = stale(session, _place(cache))
    return why_it_stays(found) if found is not None else ""


def _place(cache: Cache) -> ClaimPlace:
    return ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
