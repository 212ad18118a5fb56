"""The time that runs spent in each phase, stored as spans."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import bindparam, func, insert, select
from sqlmodel import Session, col

from bot.database.prepared import Prepared, connection_of
from bot.training.spec import spec_of
from bot.training.tables import Run, RunPhase, Span

_SECONDS_PER_HOUR = 3600
_NOTHING = timedelta(0)
_WAITING = (RunPhase.ASKED, RunPhase.PENDING, RunPhase.PREEMPTED)
# Built once: that takes longer than to run them.
_LAST = select(func.max(col(Span.ended_at))).where(col(Span.run_id) == bindparam("run"))
_INSERT = Prepared(insert(Span))
_NEWEST_FIRST = (
    select(col(Span.phase), col(Span.began_at), col(Span.ended_at))
    .where(col(Span.run_id) == bindparam("run"))
    .order_by(col(Span.began_at).desc())
)


class Stretch(NamedTuple):
    """The phase and nodes of a run, as its spans store them."""

    phase: RunPhase
    since: datetime
    nodes: int


@dataclass(frozen=True)
class Times:
    """How long a run was in each phase until now, and its GPU-hours; None if unknown.

    `gpu_hours` counts its GPUs while it ran.
    """

    phases: Mapping[RunPhase, timedelta]
    running: timedelta | None
    gpu_hours: Decimal | None


def stretch_of(run: Run) -> Stretch:
    """The current phase and nodes of the run."""
    nodes = run.pods_running
    if nodes is None:
        # Every look comes by here: to decode the whole spec for this would cost too much.
        nodes = run.size or run.scale_to or int(run.spec.get("nodes", 1))
    return Stretch(RunPhase(run.phase), run.since, nodes)


def keep_span(session: Session, run: Run, before: Stretch, now: datetime) -> None:
    """Stores the previous stretch as a span if the phase or the nodes changed."""
    after = stretch_of(run)
    is_other_phase = after.phase is not before.phase
    if not is_other_phase and after.nodes == before.nodes:
        return
    last = connection_of(session).scalar(_LAST, {"run": run.id})
    began, until = last or before.since, after.since if is_other_phase else now
    started = run.started_at
    if not run.is_live and before.phase is not RunPhase.RUNNING and started and started > began:
        # It ended before anybody saw it run.
        _add(session, run, before, began, started)
        before, began = before._replace(phase=RunPhase.RUNNING), started
    _add(session, run, before, began, until)


def _add(session: Session, run: Run, stretch: Stretch, began: datetime, ended: datetime) -> None:
    if ended > began:
        values = {"run_id": run.id, "phase": stretch.phase.value, "nodes": stretch.nodes}
        _INSERT(session, {**values, "began_at": began, "ended_at": ended})


def newest_first(session: Session, run: Run) -> Iterator[tuple[RunPhase, timedelta]]:
    """The phases that a run has left, the last one first, and how long it was in each."""
    for phase, began, ended in connection_of(session).execute(_NEWEST_FIRST, {"run": run.id}).all():
        yield RunPhase(phase), ended - began


def times_of(session: Session, run: Run, now: datetime) -> Times:
    """The time the run spent in each phase, up to now if it is live."""
    spans = session.scalars(
        select(Span).where(col(Span.run_id) == run.id).order_by(col(Span.began_at))
    ).all()
    # Runs of before there were spans have them from their middle on, or not at all.
    began = spans[0].began_at if spans else run.since
    if began > run.asked_at or not (spans or run.is_live):
        return _told_by_ends(run)
    return _sum(run, spans, now)


def _sum(run: Run, spans: Sequence[Span], now: datetime) -> Times:
    phases: dict[RunPhase, timedelta] = defaultdict(timedelta)
    gpus, gpu_seconds = spec_of(run).gpus, Decimal(0)
    last = stretch_of(run)
    began = spans[-1].ended_at if spans else run.since
    stretches = [
        (RunPhase(each.phase), each.nodes, each.ended_at - each.began_at) for each in spans
    ]
    if run.is_live:
        stretches.append((last.phase, last.nodes, max(now - began, _NOTHING)))
    for phase, nodes, lasted in stretches:
        phases[phase] += lasted
        if phase is RunPhase.RUNNING:
            gpu_seconds += gpus * nodes * _seconds(lasted)
    running = phases.get(RunPhase.RUNNING) or (None if run.started_at is None else _NOTHING)
    return Times(phases, running, gpu_seconds / _SECONDS_PER_HOUR if running else None)


def _told_by_ends(run: Run) -> Times:
    """The times from the row alone, which suffice for a run that was never interrupted."""
    if run.started_at is None or run.ended_at is None or run.preemptions:
        return Times({}, None, None)
    lasted, spec = run.ended_at - run.started_at, spec_of(run)
    hours = spec.gpus * spec.nodes * _seconds(lasted) / _SECONDS_PER_HOUR
    return Times({RunPhase.RUNNING: lasted}, lasted, hours)


def _seconds(lasted: timedelta) -> Decimal:
    return Decimal(int(lasted.total_seconds()))


def waits_in(session: Session, begun: datetime, ended: datetime) -> dict[str, timedelta]:
    """How long each run waited for GPUs within a past period, by its id."""
    found: dict[str, timedelta] = defaultdict(timedelta)
    kept = select(col(Span.run_id), col(Span.began_at), col(Span.ended_at)).where(
        col(Span.phase).in_(_WAITING), col(Span.ended_at) > begun, col(Span.began_at) < ended
    )
    for run, since, until in session.connection().execute(kept):
        found[run] += max(min(until, ended) - max(since, begun), _NOTHING)
    still = select(col(Run.id), col(Run.since)).where(
        col(Run.ended_at).is_(None), col(Run.phase).in_(_WAITING), col(Run.since) < ended
    )
    for run, since in session.connection().execute(still):
        found[run] += max(ended - max(since, begun), _NOTHING)
    return dict(found)
