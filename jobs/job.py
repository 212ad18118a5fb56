"""What a job is: an entry of the timetable whose work calls services."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from bot.database.database import Session
from bot.schedule import ScheduledJob
from bot.services import Services


@dataclass(frozen=True)
class Job:
    """A name, a cron pattern in UTC, and what happens then.

    `work` writes rows in the transaction that claims the slot: what is due, not what it leads to.
    """

    name: str
    cron: str
    work: Callable[[Services, Session, datetime], None]

    def scheduled(self, services: Services) -> ScheduledJob:
        """The job as the timetable runs it."""
        return ScheduledJob(self.name, self.cron, "UTC", partial(self.work, services))
