"""Every ten minutes: reads how full the capacity pools of Azure NetApp Files are."""

from datetime import datetime

from bot.database.database import Session
from bot.services import Services
from bot.volumes.pools.controller import look_at_pools
from jobs.job import Job


def work(services: Services, session: Session, now: datetime) -> None:
    """Makes the pools due."""
    look_at_pools(services.settings(), session, now)


job = Job("anf-pools", "*/10 * * * *", work)
