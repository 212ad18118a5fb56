"""What of quotas a team uses now, so that it cannot be removed."""

from collections.abc import Iterator

from sqlmodel import Session, col, func, or_, select

from bot.quotas.tables import LIVE, Override


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """The live requests and overrides in which the team takes part."""
    found = select(func.count()).where(
        or_(col(Override.team) == team, col(Override.donor_team) == team),
        col(Override.phase).in_(LIVE),
    )
    yield "quota override", session.exec(found).one()
