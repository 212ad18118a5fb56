"""Finds pushes."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from bot.datasets.location import Location
from bot.datasets.push_tables import Push


def live(session: Session) -> Sequence[Push]:
    """The pushes that have not ended."""
    return session.exec(
        select(Push).where(col(Push.ended_at).is_(None)).order_by(col(Push.id))
    ).all()


def overlap(one: str, other: str) -> bool:
    """Whether one of two places is in the other; buckets of one name count as the same."""
    left, right = Location.of(one), Location.of(other)
    return left.bucket == right.bucket and (
        left.prefix.startswith(right.prefix) or right.prefix.startswith(left.prefix)
    )
