"""Notices to the owner about time: a long wait is over, or the time limit is near."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.training import notices
from bot.training.records.spans import newest_first
from bot.training.runs.decide import RunObserved
from bot.training.state import State
from bot.training.tables import NOT_ADMITTED, Run, RunPhase

_NOTHING = timedelta(0)
_TOLD_AT = 0.8


@dataclass(frozen=True)
class Limit:
    """The time limit of a run, and when it is reached; sessions have their own time."""

    length: timedelta
    ends_at: datetime

    @property
    def told_at(self) -> datetime:
        """When the owner is notified: after four fifths of the limit."""
        return self.ends_at - (1 - _TOLD_AT) * self.length


def limit_of(run: Run, seen: RunObserved, state: State) -> Limit | None:
    """The time limit of a running run; it counts from each start that the cluster reports."""
    seconds = run.spec.get("time_limit_seconds")
    if seconds is None or seen.root is None or state.phase is not RunPhase.RUNNING:
        return None
    began = seen.root.status.started_at or state.started_at
    length = timedelta(seconds=seconds)
    return None if began is None else Limit(length, began + length)


def note_start(
    session: Session,
    run: Run,
    came_from: RunPhase,
    came_at: datetime,
    long_wait: timedelta,
    now: datetime,
) -> None:
    """Notifies the owner that the run has started, if it had waited for long.

    `came_from` is the phase before, `came_at` since when it was in it.
    """
    if run.phase != RunPhase.RUNNING or came_from is RunPhase.RUNNING:
        return
    waited = _waited(session, run)
    if came_from in NOT_ADMITTED:
        waited += max(run.since - came_at, _NOTHING)
    if waited >= long_wait:
        notices.started(session, run, waited, now)


def note_limit(session: Session, run: Run, limit: Limit | None, now: datetime) -> None:
    """Notifies the owner once that most of the time limit is used."""
    if limit is not None and limit.told_at <= now < limit.ends_at:
        notices.time_runs_out(session, run, limit.length, limit.ends_at, now)


def _waited(session: Session, run: Run) -> timedelta:
    """How long it waited since it last ran."""
    total = _NOTHING
    for phase, lasted in newest_first(session, run):
        if phase is RunPhase.RUNNING:
            break
        if phase in NOT_ADMITTED:
            total += lasted
    return total
