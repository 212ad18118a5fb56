"""Every five minutes: sweeps the caches of datasets for unused ones."""

from datetime import datetime

from bot.database.database import Session
from bot.datasets.caches.evictions.sweep import look_through
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Makes the sweep of every cluster with caches due."""
    look_through(services.settings(), session, now)


job = Job("cache-expiry", "*/5 * * * *", work)
