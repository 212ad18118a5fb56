"""Finds pushes."""

from collections.abc import Sequence

from sqlalchemy import and_, or_
from sqlmodel import Session, col, select

from bot.datasets.caches.tables import CacheShare
from bot.datasets.tables import Push, PushPhase


def writing(session: Session) -> Sequence[Push]:
    """The pushes that have not ended, and failed ones whose Job may still exist."""
    is_going = (
        col(Push.phase) == PushPhase.FAILED,
        col(Push.is_cleared).is_(False),
        # A share is closed only once the Job is gone; a push of a snapshot has no share.
        or_(col(CacheShare.is_wanted).is_(True), col(Push.share_id) == ""),
    )
    return session.exec(
        select(Push)
        .outerjoin(CacheShare, col(CacheShare.id) == col(Push.share_id))
        .where(or_(col(Push.ended_at).is_(None), and_(*is_going)))
        .order_by(col(Push.id))
    ).all()
