"""Every morning: what caches left over in a cluster is looked for and reported."""

from bot.schedule import ScheduledJob, Work


def job(look: Work) -> ScheduledJob:
    """The job; `look` makes the search of every cluster with caches due."""
    return ScheduledJob("dataset-orphans", "7 6 * * *", "UTC", look)
