"""Finds idle runs in the samples; `IdleRunService` decides what follows."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.config import ClusterSettings
from bot.gpus.samples.usage import Now, latest
from bot.gpus.sources.choice import pace_of
from bot.training.idle.runs import IdleRun, IdleRunService

_MINUTE = timedelta(minutes=1)
# Figures older than their usual delay plus this say nothing about now.
_FRESH = timedelta(minutes=10)


def look_at_idle_runs(
    idling: IdleRunService,
    session: Session,
    clusters: Mapping[str, ClusterSettings],
    now: datetime,
) -> None:
    """Reports each run whose GPUs are all measured as idle to the service."""
    for name, at in clusters.items():
        for idle in idle_runs(latest(session, name), at, now):
            idling.seen(session, idle, now)


def idle_runs(seen: Now, at: ClusterSettings, now: datetime) -> list[IdleRun]:
    """The runs of a cluster whose GPUs are all idle, and since when all of them are."""
    until = seen_until(seen, at, now)
    if until is None:
        return []
    since: dict[str, list[datetime | None]] = {}
    for part in seen.parts:
        if part.series.run_id and part.amounts.allocated:
            since.setdefault(part.series.run_id, []).append(part.series.idle_since)
    found = []
    for run_id, moments in sorted(since.items()):
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(moments):
            found.append(IdleRun(run_id, max(known), until))
    return found


def seen_until(seen: Now, at: ClusterSettings, now: datetime) -> datetime | None:
    """Until when the usage of a cluster is known; None if that is too long ago."""
    if seen.measured_at is None:
        return None
    pace = pace_of(at)
    fresh = _FRESH + (pace.late + pace.together - 2) * _MINUTE
    return seen.measured_at + _MINUTE if now - seen.measured_at <= fresh else None
