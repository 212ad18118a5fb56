"""Every minute: reverts expired overrides whose rows were lost."""

from datetime import datetime

from bot.database.database import Session
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Looks through the annotations of the queues in view."""
    services.quotas.recover(session, now)


job = Job("quota-recovery", "* * * * *", work)
