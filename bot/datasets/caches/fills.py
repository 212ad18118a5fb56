"""Fills and the volumes they are on, which keep what they can do while a fill goes on."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot.datasets.caches.tables import CACHE, Cache, Phase
from bot.volumes.changes import keeping
from bot.volumes.changes.card import Fill
from bot.volumes.records import ClaimPlace

_GOING_ON = (Phase.ASKED, Phase.STARTING, Phase.FILLING, Phase.ARRANGING)


def begins(session: Session, cache: Cache) -> None:
    """The cache is about to be filled."""
    place = ClaimPlace(cache.cluster, cache.namespace, cache.claim_name)
    keeping.use(session, place, (CACHE, cache.id), f"the fill of {cache.reference}")


def ends(session: Session, cache: Cache, now: datetime) -> None:
    """It is filled, or never will be."""
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
