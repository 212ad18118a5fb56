"""Every morning: finds and reports objects that caches left over in a cluster."""

from bot.schedule import ScheduledJob, Work


def job(look: Work) -> ScheduledJob:
    """The job; `look` makes the search of every cluster with caches due."""
    return ScheduledJob("dataset-orphans", "7 6 * * *", "UTC", look)
