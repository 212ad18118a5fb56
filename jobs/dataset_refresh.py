"""Every ten minutes: checks a few datasets for new content that were not checked recently."""

from bot.schedule import ScheduledJob, Work


def job(refresh: Work) -> ScheduledJob:
    """The job; `refresh` begins the surveys that are due."""
    return ScheduledJob("dataset-refresh", "*/10 * * * *", "UTC", refresh)
