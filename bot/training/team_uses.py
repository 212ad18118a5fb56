"""What of training a team uses now, so that it cannot be removed."""

from collections.abc import Iterator

from sqlmodel import Session, col, func, select

from bot.training.requests.tables import RunRequest
from bot.training.saved_flows.tables import Flow, FlowPhase
from bot.training.spec import asked_spec
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run

_SESSION = "interactive"


def team_uses(session: Session, team: str) -> Iterator[tuple[str, int]]:
    """What of the team is live or can start a run, each with its number."""
    live = session.exec(select(Run).where(col(Run.team) == team, col(Run.ended_at).is_(None))).all()
    sessions = sum(asked_spec(each).kind == _SESSION for each in live)
    yield "run", len(live) - sessions
    yield "session", sessions
    for what, table in (("sweep", Sweep), ("request for a run", RunRequest)):
        count = select(func.count()).where(col(table.team) == team, col(table.ended_at).is_(None))
        yield what, session.exec(count).one()
    scheduled = select(func.count()).where(
        col(Flow.team) == team, col(Flow.phase) == FlowPhase.SCHEDULED
    )
    yield "scheduled flow", session.exec(scheduled).one()
