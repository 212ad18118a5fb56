"""The overrides that are active, or that ended in a period."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import and_, or_, select
from sqlmodel import Session, col

from bot.quotas.tables import Override, OverridePhase


def overrides_during(
    session: Session, teams: Collection[str], began: datetime, ended: datetime
) -> Sequence[Override]:
    """The active overrides of these teams, then those that ended in the period `times`."""
    is_past = and_(
        col(Override.starts_at).is_not(None),
        col(Override.ended_at) >= began,
        col(Override.ended_at) < ended,
    )
    return session.scalars(
        select(Override)
        .where(
            col(Override.team).in_(teams),
            col(Override.duration_seconds).is_not(None),
            or_(col(Override.phase) == OverridePhase.ACTIVE, is_past),
        )
        .order_by(col(Override.ended_at).is_not(None), col(Override.ends_at), col(Override.id))
    ).all()
