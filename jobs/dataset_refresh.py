"""Every ten minutes: a few datasets whose source was not seen for long are looked through."""

from bot.schedule import ScheduledJob, Work


def job(refresh: Work) -> ScheduledJob:
    """The job; `refresh` begins the surveys that are due."""
    return ScheduledJob("dataset-refresh", "*/10 * * * *", "UTC", refresh)
