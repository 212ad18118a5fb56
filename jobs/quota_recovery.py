"""Every minute: reverts expired overrides whose rows were lost."""

from bot.schedule import ScheduledJob, Work


def job(recover: Work) -> ScheduledJob:
    """The job; `recover` looks through the annotations of the queues in view."""
    return ScheduledJob("quota-recovery", "* * * * *", "UTC", recover)
