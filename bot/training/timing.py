"""What a run's owner is told of its time: that a long wait is over, or that its limit is near."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from bot.training import notes
from bot.training.decision import Seen
from bot.training.state import State
from bot.training.tables import NOT_ADMITTED, Phase, Run, Span

_NOTHING = timedelta(0)
_TOLD_AT = 0.8


@dataclass(frozen=True)
class Limit:
    """How long a run may run, and when that is over; sessions have a time of their own."""

    length: timedelta
    ends_at: datetime

    @property
    def told_at(self) -> datetime:
        """When its owner is told: four fifths are over."""
        return self.ends_at - (1 - _TOLD_AT) * self.length


def limit_of(run: Run, seen: Seen, state: State) -> Limit | None:
    """The limit of a run that runs; it counts from when the cluster says, anew after each start."""
    seconds = run.spec.get("time_limit_seconds")
    if seconds is None or seen.root is None or state.phase is not Phase.RUNNING:
        return None
    began = seen.root.fate.started_at or state.started_at
    length = timedelta(seconds=seconds)
    return None if began is None else Limit(length, began + length)


def note_start(
    session: Session, run: Run, came: tuple[Phase, datetime], long_wait: timedelta, now: datetime
) -> None:
    """Tells the owner of a run that now runs, where it had waited for long.

    `came` is the phase before, and since when it was in it.
    """
    if run.phase != Phase.RUNNING or came[0] is Phase.RUNNING:
        return
    waited = _waited(session, run)
    if came[0] in NOT_ADMITTED:
        waited += max(run.since - came[1], _NOTHING)
    if waited >= long_wait:
        notes.started(session, run, waited, now)


def note_limit(session: Session, run: Run, limit: Limit | None, now: datetime) -> None:
    """Tells the owner of a run once that its time is nearly over."""
    if limit is not None and limit.told_at <= now < limit.ends_at:
        notes.time_runs_out(session, run, limit.length, limit.ends_at, now)


def _waited(session: Session, run: Run) -> timedelta:
    """How long it has waited since it last ran, as far as that is over."""
    session.flush()
    spans = session.scalars(
        select(Span).where(col(Span.run_id) == run.id).order_by(col(Span.began_at).desc())
    )
    total = _NOTHING
    for span in spans:
        if span.phase == Phase.RUNNING:
            break
        if span.phase in NOT_ADMITTED:
            total += span.ended_at - span.began_at
    return total
