"""Every ten minutes: reads how full the capacity pools of Azure NetApp Files are."""

from bot.schedule import ScheduledJob, Work


def job(look: Work) -> ScheduledJob:
    """The job; `look` makes the pools due."""
    return ScheduledJob("anf-pools", "*/10 * * * *", "UTC", look)
