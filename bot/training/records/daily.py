"""Statistics of runs in a period: waiting times, preemptions and failures."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from bot.training.tables import BAD_ENDS, WAITING, Run, RunPhase, Span

_LONGEST_REASON = 90
# Every run is queued for the moments that its admission takes: that is no wait to report.
_SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True)
class WaitingRun:
    """A run that waits in its queue now."""

    run: Run
    lasted: timedelta


@dataclass(frozen=True)
class Daily:
    """Statistics of runs; `waits` are sorted, `longest` is the run that now waits longest."""

    waits: tuple[timedelta, ...]
    waiting: int
    longest: WaitingRun | None
    preemptions: tuple[tuple[str, int], ...]
    failures: tuple[tuple[str, int], ...]


def daily(
    session: Session, teams: Collection[str], began: datetime, ended: datetime, now: datetime
) -> Daily:
    """The statistics of the runs of these teams between two moments, and the waiting runs."""
    waiting = _waiting_now(session, teams)
    longest = min(waiting, key=lambda run: (run.since, run.id), default=None)
    return Daily(
        _waits(session, teams, began, ended),
        len(waiting),
        WaitingRun(longest, now - longest.since) if longest else None,
        _preemptions(session, teams, began, ended),
        _failures(session, teams, began, ended),
    )


def runs_by_id(session: Session, ids: Collection[str]) -> dict[str, Run]:
    """The runs with these ids."""
    return {run.id: run for run in session.scalars(select(Run).where(col(Run.id).in_(ids)))}


def _waiting_now(session: Session, teams: Collection[str]) -> Sequence[Run]:
    return session.scalars(
        select(Run).where(
            col(Run.team).in_(teams), col(Run.ended_at).is_(None), col(Run.phase).in_(WAITING)
        )
    ).all()


def _waits(
    session: Session, teams: Collection[str], began: datetime, ended: datetime
) -> tuple[timedelta, ...]:
    """The waiting times, from a minute on, of runs that were then admitted, not stopped."""
    spans = session.scalars(
        select(Span)
        .join(Run, col(Run.id) == col(Span.run_id))
        .where(
            col(Run.team).in_(teams),
            col(Span.phase).in_(WAITING),
            col(Span.ended_at) >= began,
            col(Span.ended_at) < ended,
            or_(col(Run.ended_at).is_(None), col(Run.ended_at) > col(Span.ended_at)),
        )
    )
    waits = (span.ended_at - span.began_at for span in spans)
    return tuple(sorted(wait for wait in waits if wait >= _SHORTEST_WAIT))


def _preemptions(
    session: Session, teams: Collection[str], began: datetime, ended: datetime
) -> tuple[tuple[str, int], ...]:
    past = (
        select(col(Run.team), col(Run.id))
        .join(Span, col(Span.run_id) == col(Run.id))
        .where(
            col(Run.team).in_(teams),
            col(Span.phase) == RunPhase.PREEMPTED,
            _within(col(Span.began_at), began, ended),
        )
    )
    present = select(col(Run.team), col(Run.id)).where(
        col(Run.team).in_(teams),
        col(Run.phase) == RunPhase.PREEMPTED,
        col(Run.ended_at).is_(None),
        _within(col(Run.since), began, ended),
    )
    found = [*session.connection().execute(past), *session.connection().execute(present)]
    return _counted(Counter(team for team, _ in found))


def _failures(
    session: Session, teams: Collection[str], began: datetime, ended: datetime
) -> tuple[tuple[str, int], ...]:
    rows = session.connection().execute(
        select(col(Run.reason), col(Run.phase)).where(
            col(Run.team).in_(teams),
            col(Run.phase).in_(BAD_ENDS),
            _within(col(Run.ended_at), began, ended),
        )
    )
    return _counted(Counter(_short(reason) or str(phase) for reason, phase in rows))


def _within(moment: Mapped[Any], began: datetime, ended: datetime) -> ColumnElement[bool]:
    return and_(moment >= began, moment < ended)


def _short(reason: str) -> str:
    first = reason.partition(". ")[0].rstrip(".")
    return first if len(first) <= _LONGEST_REASON else f"{first[: _LONGEST_REASON - 1]}…"


def _counted(found: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
