"""Finds caches among the rows."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlmodel import Session, col

from bot.datasets.caches.tables import Cache


def live(session: Session, dataset_id: str) -> Sequence[Cache]:
    """The caches of a dataset that are there, or are to be; newest first."""
    return session.scalars(
        select(Cache)
        .where(col(Cache.dataset_id) == dataset_id, col(Cache.ended_at).is_(None))
        .order_by(col(Cache.id).desc())
    ).all()
