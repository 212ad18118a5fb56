"""Which runs are idle by the samples, for those who decide what follows from that."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.gpus.usage import Now, latest
from bot.training.idle_runs import IdleRun, IdleRunService

# What was measured longer ago says nothing of now.
_FRESH = timedelta(minutes=10)


def look_at_idle_runs(
    idling: IdleRunService, session: Session, clusters: Iterable[str], now: datetime
) -> None:
    """Has each run seen of whose GPUs all are known to do nothing."""
    for cluster in clusters:
        for idle in idle_runs(latest(session, cluster), now):
            idling.seen(session, idle, now)


def idle_runs(seen: Now, now: datetime) -> list[IdleRun]:
    """The runs of a cluster all of whose GPUs do nothing, and since when all of them do."""
    if seen.measured_at is None or now - seen.measured_at > _FRESH:
        return []
    since: dict[str, list[datetime | None]] = {}
    for part in seen.parts:
        if part.series.run_id and part.amounts.allocated:
            since.setdefault(part.series.run_id, []).append(part.series.idle_since)
    found = []
    for run_id, moments in sorted(since.items()):
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(moments):
            found.append(IdleRun(run_id, max(known)))
    return found
