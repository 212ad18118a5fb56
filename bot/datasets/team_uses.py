"""What of datasets a team has now, so that it cannot be removed."""

from collections.abc import Iterator

from sqlmodel import Session, col, func, select

from bot.datasets.caches.tables import Cache
from bot.datasets.tables import Dataset, Push


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """The team's datasets, caches and running pushes, each with their number."""
    owned = select(func.count()).where(col(Dataset.team) == team, col(Dataset.removed_at).is_(None))
    yield "dataset", session.exec(owned).one()
    live = select(Cache.team, Cache.teams).where(col(Cache.ended_at).is_(None))
    yield "cache", sum(team in {own, *others} for own, others in session.exec(live))
    pushes = select(func.count()).where(col(Push.team) == team, col(Push.ended_at).is_(None))
    yield "push", session.exec(pushes).one()
