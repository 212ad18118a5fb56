"""Looks every few minutes what the GPUs of sessions do, and what those of ended runs did."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

from sqlmodel import Session

from bot.clock import Clock
from bot.config import Settings
from bot.controller import Step, Trouble
from bot.database.database import Database
from bot.due import wake
from bot.gpus.idleness import idle_since, last_moment
from bot.gpus.prometheus import Prometheus
from bot.training.idling import MOST_AT_ONCE, IdlingService, Sight
from bot.training.kinds import gpus_of
from bot.training.spec import spec_of
from bot.training.tables import Run

KIND = "gpu-use"
_SOON = timedelta(seconds=2)
# Servers refuse more than 11,000 points, which are 38 days.
_FARTHEST = timedelta(days=30)
# More names in one query would be longer than servers take.
_MOST_NAMES = 50


def look_around(settings: Settings, session: Session, now: datetime) -> None:
    """Makes every cluster due, also those whose GPUs nobody measures any more."""
    for name in settings.clusters:
        wake(session, KIND, name, f"prometheus:{name}", now)


@dataclass
class _Found:
    """What one look came to: sights of sessions, and the mean use of ended runs."""

    sights: dict[str, Sight] = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)


class UseController:
    """Keeps what is known of the GPUs of a cluster; its rows are the clusters' names."""

    kind = KIND

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: Callable[[], Settings],
        idling: IdlingService,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._idling = idling

    def step(self, row_id: str) -> Step:
        """Asks the cluster's Prometheus; MetricsError when it does not tell. Then nothing ends."""
        cluster = self._settings().clusters.get(row_id)
        if cluster is None or cluster.prometheus is None:
            return Step(None, lambda session: self._idling.forget(session, row_id))
        now = self._clock.now()
        sessions, ended = self._database.read(
            lambda session: (
                self._idling.watched(session, row_id),
                self._idling.unmeasured(session, row_id, now),
            )
        )
        if not sessions and not ended:
            return Step(None)
        found = _Found()
        with closing(Prometheus(f"The Prometheus of {row_id}", cluster.prometheus)) as prometheus:
            for some in _by_namespace(sessions):
                found.sights |= _sights(prometheus, some, last_moment(now))
            for run in ended:
                found.means[run.id] = _mean(prometheus, run)
        # Each run is a request; a step takes no more of them than end before its lease does.
        again = now + _SOON if len(ended) == MOST_AT_ONCE else None
        return Step(again, lambda session: self._save(session, found, now))

    def troubled(self, session: Session, row_id: str, _trouble: Trouble, /) -> None:
        """What is not known any more is not shown."""
        self._idling.forget(session, row_id)

    def _save(self, session: Session, found: _Found, now: datetime) -> None:
        for run_id, sight in found.sights.items():
            self._idling.seen(session, run_id, sight, now)
        for run_id, busy in found.means.items():
            self._idling.measured(session, run_id, busy, now)


def _by_namespace(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that one query can be about."""
    places: dict[str, list[Run]] = {}
    for run in runs:
        places.setdefault(run.namespace, []).append(run)
    return [
        some[first : first + _MOST_NAMES]
        for some in places.values()
        for first in range(0, len(some), _MOST_NAMES)
    ]


def _sights(prometheus: Prometheus, runs: Sequence[Run], until: datetime) -> dict[str, Sight]:
    begun = max(last_moment(min(run.since for run in runs)), until - _FARTHEST)
    if until <= begun:
        return {}
    roots = [run.job_name for run in runs]
    figures = prometheus.figures(runs[0].namespace, roots, (begun, until))
    found = {}
    for run in runs:
        pods = [each for pod, each in figures.items() if pod.startswith(f"{run.job_name}-")]
        gpus = ceil(gpus_of(spec_of(run)))
        found[run.id] = Sight(until, idle_since(pods, gpus, (run.since, until)))
    return found


def _mean(prometheus: Prometheus, run: Run) -> float | None:
    if run.started_at is None or run.ended_at is None or not gpus_of(spec_of(run)):
        return None
    return prometheus.mean(run.namespace, run.job_name, (run.started_at, run.ended_at))
