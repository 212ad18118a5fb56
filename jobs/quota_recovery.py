"""Every minute: overrides whose rows were lost are put back when their time is over."""

from bot.schedule import ScheduledJob, Work


def job(recover: Work) -> ScheduledJob:
    """The job; `recover` looks through the annotations of the queues in view."""
    return ScheduledJob("quota-recovery", "* * * * *", "UTC", recover)
