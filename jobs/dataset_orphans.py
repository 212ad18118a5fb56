"""Every morning: finds and reports objects that caches left over in a cluster."""

from datetime import datetime

from bot.database.database import Session
from bot.datasets.leftovers.controller import look_for_orphans
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Makes the search of every cluster with caches due."""
    look_for_orphans(services.settings(), session, now)


job = Job("dataset-orphans", "7 6 * * *", work)
