"""Every ten minutes: surveys a few datasets whose source has not been checked for long."""

from bot.schedule import ScheduledJob, Work


def job(refresh: Work) -> ScheduledJob:
    """The job; `refresh` begins the surveys that are due."""
    return ScheduledJob("dataset-refresh", "*/10 * * * *", "UTC", refresh)
