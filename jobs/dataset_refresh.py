"""Every ten minutes: checks a few datasets for new content that were not checked recently."""

from datetime import datetime

from bot.database.database import Session
from bot.datasets.caches.refreshing import refresh
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Begins the surveys that are due."""
    refresh(services.settings(), session, now)


job = Job("dataset-refresh", "*/10 * * * *", work)
