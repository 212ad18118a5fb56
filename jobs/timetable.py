"""The scheduler of a process: checks every few seconds which jobs are due."""

import threading
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog
from apscheduler.executors.pool import BasePoolExecutor
from apscheduler.schedulers.base import BaseScheduler
from typing_extensions import override

from bot.clock import Clock
from bot.database.database import Database, Session
from bot.errors import DatabaseError
from bot.schedule import (
    OwnSchedules,
    ScheduledJob,
    ScheduleEntry,
    claim_slot,
    earliest_slot,
    install,
)
from bot.threads import EssentialThread, Workers

log = structlog.get_logger()

_LOOK_SECONDS = 5
_JITTER_SECONDS = 1
_WORKERS = 4
_LONGEST_LOOK_SECONDS = 600.0


class _Looking(BasePoolExecutor):  # type: ignore[misc]  # it has no types
    """Runs checks in monitored worker threads."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)


class _Scheduler(BaseScheduler):  # type: ignore[misc]  # it has no types
    """APScheduler's loop in a monitored thread, with monitored worker threads."""

    def __init__(self) -> None:
        workers = Workers("look", _WORKERS, limit_seconds=_LONGEST_LOOK_SECONDS)
        super().__init__(timezone="UTC", executors={"default": _Looking(workers)})
        self._changed = threading.Event()
        self._pause = 0.0
        self._workers = workers
        self._thread = EssentialThread("timetable", self._pass)
        self.threads = (self._thread, *workers.threads)

    @override
    def start(self, paused: bool = False) -> None:
        self._workers.start()
        super().start(paused)
        self._thread.start()

    @override
    def shutdown(self, wait: bool = True) -> None:
        self._thread.stop()
        self.wakeup()
        self._thread.join()
        super().shutdown(wait)

    @override
    def wakeup(self) -> None:
        self._changed.set()

    def _pass(self) -> None:
        self._changed.wait(self._pause)
        self._changed.clear()
        self._pause = _LOOK_SECONDS  # if this breaks
        if not self._thread.stopping.is_set():
            self._pause = min(self._process_jobs(), _LOOK_SECONDS)


class Timetable:
    """Runs each slot of each job once, even with several processes."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        jobs: Sequence[ScheduledJob],
        others: Sequence[OwnSchedules] = (),
    ) -> None:
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._others = others
        self._scheduler = _Scheduler()
        self.threads = self._scheduler.threads

    def start(self) -> None:
        """Adds the jobs to the timetable and starts checking."""
        now = self._clock.now()
        self._database.transaction(lambda session: install(session, self._jobs, now))
        looks = [partial(self.look, job) for job in self._jobs]
        looks += [partial(self.look_at_own, each) for each in self._others]
        for look in looks:
            self._scheduler.add_job(
                look,
                "interval",
                seconds=_LOOK_SECONDS,
                jitter=_JITTER_SECONDS,
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Stops checking, after the check that is under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def look(self, job: ScheduledJob) -> None:
        """Runs the job if its slot is due."""
        now = self._clock.now()
        try:
            if self._database.read(partial(_is_due, name=job.name, now=now)):
                self._database.transaction(lambda session: claim_slot(session, job, now))
        except DatabaseError as error:
            log.warning("a slot could not be claimed", job=job.name, error=error.message)

    def look_at_own(self, schedules: OwnSchedules) -> None:
        """Runs what is due of schedules that people set."""
        now = self._clock.now()
        try:
            if self._database.read(lambda session: schedules.is_due(session, now)):
                self._database.transaction(lambda session: schedules.work(session, now))
        except DatabaseError as error:
            log.warning("a slot could not be claimed", job=schedules.name, error=error.message)

    def look_at_all(self) -> None:
        """Checks all jobs at once; the playground calls this after it moved the clock."""
        for job in self._jobs:
            self.look(job)
        for each in self._others:
            self.look_at_own(each)

    def next_at(self) -> datetime | None:
        """When the next slot is due."""
        return self._database.read(earliest_slot)


def _is_due(session: Session, name: str, now: datetime) -> bool:
    entry = session.get(ScheduleEntry, name)
    return entry is not None and entry.next_at <= now
