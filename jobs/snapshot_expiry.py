"""Every five minutes: deletes expired snapshots."""

from datetime import datetime

from bot.database.database import Session
from bot.services import Services
from bot.snapshots.snapshots.service import expire
from jobs.job import Job


def work(_services: Services, session: Session, now: datetime) -> None:
    """Marks expired snapshots for deletion."""
    expire(session, now)


job = Job("snapshot-expiry", "*/5 * * * *", work)
