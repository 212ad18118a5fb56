"""The clock of a process: looks every few seconds which jobs have a slot that is due."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from bot.clock import Clock
from bot.database.database import Database, Session
from bot.errors import DatabaseError
from bot.schedule import ScheduledJob, ScheduleEntry, claim_slot, earliest_slot, install

log = structlog.get_logger()

_LOOK_SECONDS = 5
_JITTER_SECONDS = 1


class Timetable:
    """Runs each slot of each job once, however many processes do the same."""

    def __init__(self, database: Database, clock: Clock, jobs: Sequence[ScheduledJob]) -> None:
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._scheduler = BackgroundScheduler(timezone="UTC")

    def start(self) -> None:
        """Enters the jobs and begins to look."""
        now = self._clock.now()
        self._database.transaction(lambda session: install(session, self._jobs, now))
        for job in self._jobs:
            self._scheduler.add_job(
                self.look,
                "interval",
                args=(job,),
                seconds=_LOOK_SECONDS,
                jitter=_JITTER_SECONDS,
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Looks no more, after the look that is under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def look(self, job: ScheduledJob) -> None:
        """Does the job's work if its slot is due."""
        now = self._clock.now()
        if not self._database.read(partial(_is_due, name=job.name, now=now)):
            return
        try:
            self._database.transaction(lambda session: claim_slot(session, job, now))
        except DatabaseError as error:
            log.warning("a slot could not be claimed", job=job.name, error=error.message)

    def look_at_all(self) -> None:
        """Looks at once; a playground that has moved the clock asks for this."""
        for job in self._jobs:
            self.look(job)

    def next_at(self) -> datetime | None:
        """When the next slot is due."""
        return self._database.read(earliest_slot)


def _is_due(session: Session, name: str, now: datetime) -> bool:
    entry = session.get(ScheduleEntry, name)
    return entry is not None and entry.next_at <= now
