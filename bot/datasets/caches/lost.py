"""Caches whose volumes Trident does not find any more, since somebody moved them."""

from sqlmodel import Session

from bot.datasets.caches.tables import Cache
from bot.volumes.records import ClaimPlace, refuse_stale, stale, why_it_stays


def refuse_lost(session: Session, cache: Cache, doing: str) -> None:
    """ConflictError while it is lost; `doing` goes on after "It cannot be"."""
    refuse_stale(session, _place(cache), doing)


def lost(session: Session, cache: Cache) -> str:
    """Why a cache that is lost is not deleted, as a sentence; empty for any other."""
    found = stale(session, _place(cache))
    return why_it_stays(found) if found is not None else ""


def _place(cache: Cache) -> ClaimPlace:
    return ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
