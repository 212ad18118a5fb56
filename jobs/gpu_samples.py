"""Every minute: records who holds the GPUs, and queries their usage."""

from bot.schedule import ScheduledJob, Work


def job(sample: Work) -> ScheduledJob:
    """The job; `sample` makes every cluster due."""
    return ScheduledJob("gpu-samples", "* * * * *", "UTC", sample)
