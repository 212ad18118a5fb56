"""Every minute: who holds the GPUs is written down, and what they did is asked for."""

from bot.schedule import ScheduledJob, Work


def job(sample: Work) -> ScheduledJob:
    """The job; `sample` makes every cluster due."""
    return ScheduledJob("gpu-samples", "* * * * *", "UTC", sample)
