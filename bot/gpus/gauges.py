"""Metrics of GPUs, from the latest sample: allocated, idle, quota, and gaps in the samples."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.config import Settings
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.gpus.amounts import NOTHING, WHOLE, Amounts
from bot.gpus.minutes import PER_HOUR, minute_of
from bot.gpus.reports.ranking import idle
from bot.gpus.samples.usage import Now, SeriesUsage, Who, grouped, latest, together
from bot.gpus.tables import MINUTE, Sample

_CLUSTER, _TEAM = ("cluster",), ("cluster", "team")
_ALL = GaugeSpec("quartermaster_gpus", "GPUs of all nodes", _CLUSTER)
_READY = GaugeSpec("quartermaster_gpus_schedulable", "GPUs of schedulable nodes", _CLUSTER)
_HELD = GaugeSpec(
    "quartermaster_gpus_allocated", "GPUs that pods hold; team is empty if unknown", _TEAM
)
_MEASURED = GaugeSpec(
    "quartermaster_gpus_measured", "Allocated GPUs whose use the GPU source reports", _TEAM
)
_BUSY = GaugeSpec("quartermaster_gpus_busy", "Measured GPUs, by the share of time in use", _TEAM)
_IDLE = GaugeSpec("quartermaster_gpus_idle", "Measured GPUs on which nothing ran", _TEAM)
_WORKLOADS = GaugeSpec(
    "quartermaster_idle_workloads",
    "Runs and other workloads whose GPUs have all been idle for 15 minutes or longer",
    _TEAM,
)
_QUOTA = GaugeSpec("quartermaster_quota_gpus", "GPUs of a team's quota", _TEAM)
_BORROWED = GaugeSpec("quartermaster_quota_borrowed_gpus", "GPUs beyond a team's quota", _TEAM)
_AGE = GaugeSpec(
    "quartermaster_gpu_sample_age_seconds", "Age of the latest sample of who holds GPUs", _CLUSTER
)
_USE_AGE = GaugeSpec(
    "quartermaster_gpu_use_age_seconds", "Age of the latest sample with the use of GPUs", _CLUSTER
)
_MISSING = GaugeSpec(
    "quartermaster_gpu_missing_sample_minutes",
    "Minutes of the last hour without a sample, since the first sample",
    _CLUSTER,
)
# A sample is taken each minute; the use of GPUs is queried some minutes later.
_HELD_WITHIN = timedelta(minutes=5)
_MEASURED_WITHIN = timedelta(minutes=15)
_UNDER_WAY_MINUTES = 2


def gpu_gauges(settings: Callable[[], Settings], clusters: Collection[str]) -> GaugeSource:
    """The metrics of GPUs; of an old sample, only its age."""

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        names = [name for name in clusters if name in settings().clusters]
        teams = settings().teams.items()
        for name in names:
            here = [each for each, team in teams if name in team.reach]
            yield from _of_cluster(session, latest(session, name), here, now)
        counts = Counter(
            (each.who.cluster, each.who.team) for each in idle(session, names, None, now)
        )
        places = {(at, name) for name, team in teams for at in team.reach if at in names}
        for place in sorted({*places, *counts}):
            yield _WORKLOADS.at(counts[place], *place)

    gauges = (_ALL, _READY, _HELD, _MEASURED, _BUSY, _IDLE, _WORKLOADS, _QUOTA, _BORROWED)
    return GaugeSource((*gauges, _AGE, _USE_AGE, _MISSING), read)


def _of_cluster(
    session: Session, found: Now, teams: Sequence[str], now: datetime
) -> Iterator[Reading]:
    if found.sampled_at is None:
        return
    yield _AGE.at(now - found.sampled_at, found.cluster)
    yield _MISSING.at(_missing(session, found.cluster, now), found.cluster)
    if now - found.sampled_at <= _HELD_WITHIN:
        yield from _allocation(found, teams)
    if found.measured_at is not None:
        yield _USE_AGE.at(now - found.measured_at, found.cluster)
        if now - found.measured_at <= _MEASURED_WITHIN:
            yield from _use(found, teams)


def _allocation(found: Now, teams: Sequence[str]) -> Iterator[Reading]:
    yield _ALL.at(_gpus(together(found.nodes).allocated), found.cluster)
    yield _READY.at(_gpus(together(found.ready).allocated), found.cluster)
    for team, amounts in _by_team(found.parts, teams):
        yield _HELD.at(_gpus(amounts.allocated), found.cluster, team)
    for gauge, parts in ((_QUOTA, found.quota), (_BORROWED, found.borrowed)):
        for team, amounts in grouped(parts, _team).items():
            yield gauge.at(_gpus(amounts.allocated), found.cluster, team)


def _use(found: Now, teams: Sequence[str]) -> Iterator[Reading]:
    for team, amounts in _by_team(found.measured, teams):
        for gauge, amount in _amounts(amounts):
            yield gauge.at(_gpus(amount), found.cluster, team)


def _by_team(parts: Sequence[SeriesUsage], teams: Sequence[str]) -> Iterator[tuple[str, Amounts]]:
    """The amounts of each team; a team without pods in a sample is known to hold nothing."""
    found = dict.fromkeys(teams, NOTHING) | grouped(parts, _team)
    yield from sorted(found.items())


def _amounts(amounts: Amounts) -> tuple[tuple[GaugeSpec, int], ...]:
    return (_MEASURED, amounts.measured), (_BUSY, amounts.busy), (_IDLE, amounts.idle)


def _missing(session: Session, name: str, now: datetime) -> int:
    """The last minutes do not count: their sample may be on its way."""
    last = minute_of(now) - _UNDER_WAY_MINUTES
    of_cluster = (col(Sample.cluster) == name, col(Sample.step) == MINUTE)
    first = session.scalar(select(func.min(col(Sample.minute))).where(*of_cluster)) or last
    window = range(max(last - PER_HOUR, first), last)
    is_in_window = (col(Sample.minute) >= window.start, col(Sample.minute) < window.stop)
    there = select(func.count()).select_from(Sample).where(*of_cluster, *is_in_window)
    return len(window) - (session.scalar(there) or 0)


def _team(series: Who) -> str:
    return series.team


def _gpus(amount: int) -> float:
    return amount / WHOLE
