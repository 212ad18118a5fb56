"""Every five minutes: checks the GPU usage of sessions and of ended runs."""

from bot.schedule import ScheduledJob, Work


def job(look: Work) -> ScheduledJob:
    """The job; `look` makes every cluster due."""
    return ScheduledJob("gpu-use", "*/5 * * * *", "UTC", look)
