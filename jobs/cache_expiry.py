"""Every five minutes: sweeps the caches of datasets for unused ones."""

from bot.schedule import ScheduledJob, Work


def job(look_through: Work) -> ScheduledJob:
    """The job; `look_through` makes the sweep of every cluster with caches due."""
    return ScheduledJob("cache-expiry", "*/5 * * * *", "UTC", look_through)
