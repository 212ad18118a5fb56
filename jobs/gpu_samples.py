"""Every minute: records who holds the GPUs, and queries their usage."""

from datetime import datetime

from bot.database.database import Session
from bot.gpus.samples.sampling import sample_all
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Makes the samples of every cluster due."""
    sample_all(services.settings(), session, now)


job = Job("gpu-samples", "* * * * *", work)
