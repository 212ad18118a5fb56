"""What of training a team uses now, so that it cannot be removed."""

from collections.abc import Iterator

from sqlmodel import Session, col, func, select

from bot.training.spec import asked_spec
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run

_SESSION = "interactive"


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """The team's live runs, sessions and sweeps, each with their number."""
    live = session.exec(select(Run).where(col(Run.team) == team, col(Run.ended_at).is_(None))).all()
    sessions = sum(asked_spec(each).kind == _SESSION for each in live)
    yield "run", len(live) - sessions
    yield "session", sessions
    sweeps = select(func.count()).where(col(Sweep.team) == team, col(Sweep.ended_at).is_(None))
    yield "sweep", session.exec(sweeps).one()
