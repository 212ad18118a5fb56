"""Every job of the timetable."""

from bot.schedule import ScheduledJob, Work
from jobs import quota_recovery, retention


def declared(recover_quotas: Work) -> tuple[ScheduledJob, ...]:
    """The jobs; `recover_quotas` puts back what only a queue's annotation still knows."""
    return (retention.job, quota_recovery.job(recover_quotas))
