"""Checks the GPU usage of sessions and of ended runs in the samples, every few minutes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.config import ClusterSettings, Settings
from bot.database.database import Database
from bot.gpus.idle.runs import idle_runs, seen_until
from bot.gpus.minutes import Window, moment_of
from bot.gpus.samples.usage import latest, together, use
from bot.gpus.tables import Sampling
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.training.idle.service import MOST_AT_ONCE, GpuActivity, IdlingService
from bot.training.kinds import gpus_of
from bot.training.spec import spec_of
from bot.training.tables import Run

KIND = "gpu-use"
_SOON = timedelta(seconds=2)


def look_around(settings: Settings, session: Session, now: datetime) -> None:
    """Makes every cluster due, including those that no longer have a source of GPU metrics."""
    for name in settings.clusters:
        wake(session, KIND, name, cluster_lane(name), now)


@dataclass
class _GpuObserved:
    """The result of one check: sights of sessions, and how busy the GPUs of ended runs were.

    Sights are None if usage is unknown at the moment.
    """

    sights: dict[str, GpuActivity] | None = None
    busy: dict[str, float | None] = field(default_factory=dict)


class UseController:
    """Updates what is known of sessions' GPUs in a cluster; its rows are the clusters' names."""

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
        """Reads the samples; makes no calls outside the database."""
        now, at = self._clock.now(), self._settings().clusters.get(row_id)
        if at is None or not at.measures_gpus:
            return Step(None, lambda session: self._idling.forget(session, row_id))
        found = self._database.read(lambda session: self._look(session, row_id, at, now))
        again = now + _SOON if len(found.busy) == MOST_AT_ONCE else None
        return Step(again, lambda session: self._save(session, row_id, found, now))

    def on_failure(self, session: Session, row_id: str, _trouble: Trouble, /) -> None:
        """Clears what was known of the sessions of the cluster."""
        self._idling.forget(session, row_id)

    def _look(
        self, session: Session, cluster: str, at: ClusterSettings, now: datetime
    ) -> _GpuObserved:
        found = _GpuObserved()
        state = session.get(Sampling, cluster)
        if state is None:
            return found
        for run in self._idling.unmeasured(session, cluster, moment_of(state.measured), now):
            found.busy[run.id] = _busy(session, run)
        seen = latest(session, cluster)
        seen_at = seen_until(seen, at, now)
        if seen_at is not None:
            since = {each.run_id: each.since for each in idle_runs(seen, at, now)}
            watched = self._idling.watched(session, cluster)
            found.sights = {run.id: GpuActivity(seen_at, since.get(run.id)) for run in watched}
        return found

    def _save(self, session: Session, cluster: str, found: _GpuObserved, now: datetime) -> None:
        if found.sights is None:
            self._idling.forget(session, cluster)
        for run_id, sight in (found.sights or {}).items():
            self._idling.seen(session, run_id, sight, now)
        for run_id, busy in found.busy.items():
            self._idling.measured(session, run_id, busy, now)


def _busy(session: Session, run: Run) -> float | None:
    """How busy the GPUs of a run were overall, in 0..1; None if unknown."""
    if run.started_at is None or run.ended_at is None or not gpus_of(spec_of(run)):
        return None
    parts = use(session, Window(run.started_at, run.ended_at)).parts
    return together(each for each in parts if each.series.run_id == run.id).efficiency
