"""Metrics of live runs: how many are in each phase, and for how long they have waited."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.config import Settings
from bot.database.columns import Moment
from bot.gauges import GaugeSource, GaugeSpec, Reading
from bot.training.tables import ENDS, WAITING, Run, RunPhase

_RUNS = GaugeSpec(
    "quartermaster_runs", "Runs that have not ended, by phase", ("cluster", "team", "phase")
)
_WAIT = GaugeSpec(
    "quartermaster_run_longest_wait_seconds",
    "Time since the run that has waited longest for GPUs began to wait; 0 if none waits",
    ("cluster", "team"),
)
_IDLE = GaugeSpec(
    "quartermaster_sessions_idle", "Running sessions whose GPUs are all idle", ("cluster", "team")
)
_LIVE = tuple(each for each in RunPhase if each not in ENDS)

Place = tuple[str, str]


def run_gauges(settings: Callable[[], Settings]) -> GaugeSource:
    """The metrics of runs; each team has all of them in each of its clusters."""

    def read(session: Session, now: datetime) -> Iterator[Reading]:
        counts: dict[Place, dict[str, int]] = {}
        waits: dict[Place, timedelta] = {}
        idle: dict[Place, int] = {}
        for name, team in settings().teams.items():
            counts |= {(cluster, name): {} for cluster in team.reach}
        for cluster, team_name, phase, count, since, resting in _rows(session):
            place = (cluster, team_name)
            counts.setdefault(place, {})[phase] = count
            idle[place] = idle.get(place, 0) + resting
            if phase in WAITING:
                waits[place] = max(now - since, waits.get(place, timedelta()))
        for place, phases in sorted(counts.items()):
            for live in _LIVE:
                yield _RUNS.at(phases.get(live, 0), *place, live)
            yield _WAIT.at(waits.get(place, timedelta()), *place)
            yield _IDLE.at(idle.get(place, 0), *place)

    return GaugeSource((_RUNS, _WAIT, _IDLE), read)


def _rows(session: Session) -> Iterator[tuple[str, str, str, int, datetime, int]]:
    keys = (col(Run.cluster), col(Run.team), col(Run.phase))
    chosen = (
        select(
            *keys,
            func.count(),
            func.min(col(Run.since), type_=Moment()),
            func.count(col(Run.idle_since)),
        )
        .where(col(Run.ended_at).is_(None))
        .group_by(*keys)
    )
    rows = session.connection().execute(chosen)
    return ((cluster, team, phase, n, since, idle) for cluster, team, phase, n, since, idle in rows)
