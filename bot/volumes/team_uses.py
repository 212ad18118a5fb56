"""What of volumes a team has in progress, so that it cannot be removed."""

from collections.abc import Iterator

from sqlmodel import Session, col, func, select

from bot.volumes.changes.tables import VolumeChange
from bot.volumes.growths.tables import Growth


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """The live changes and growths of the team's volumes, each with their number."""
    for what, table in (("volume change", VolumeChange), ("volume growth", Growth)):
        live = select(func.count()).where(col(table.team) == team, col(table.ended_at).is_(None))
        yield what, session.exec(live).one()
