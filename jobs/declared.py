"""Every job of the timetable."""

from bot.schedule import ScheduledJob, Work
from jobs import gpu_use, quota_recovery, retention


def declared(recover_quotas: Work, look_at_gpus: Work) -> tuple[ScheduledJob, ...]:
    """The jobs; `recover_quotas` puts back what only a queue's annotation still knows.

    `look_at_gpus` has the use of GPUs be asked for.
    """
    return (retention.job, quota_recovery.job(recover_quotas), gpu_use.job(look_at_gpus))
