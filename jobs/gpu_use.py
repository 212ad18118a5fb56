"""Every five minutes: checks the GPU usage of sessions and of ended runs."""

from datetime import datetime

from bot.database.database import Session
from bot.gpus.idle.controller import look_around
from bot.gpus.idle.runs import look_at_idle_runs
from bot.services import Services
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Makes every cluster due, and reports idle runs to training."""
    settings = services.settings()
    look_around(settings, session, now)
    look_at_idle_runs(services.training.idle_runs, session, settings.clusters, now)


job = Job("gpu-use", "*/5 * * * *", work)
