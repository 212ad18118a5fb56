"""Every five minutes: what the GPUs of sessions and of ended runs did is asked for."""

from bot.schedule import ScheduledJob, Work


def job(look: Work) -> ScheduledJob:
    """The job; `look` makes every cluster due."""
    return ScheduledJob("gpu-use", "*/5 * * * *", "UTC", look)
