"""All jobs of the timetable."""

from dataclasses import dataclass

from bot.schedule import ScheduledJob, Work
from jobs import (
    anf_pools,
    cache_expiry,
    dataset_orphans,
    dataset_refresh,
    gpu_samples,
    gpu_use,
    quota_recovery,
    retention,
    snapshot_expiry,
)


@dataclass(frozen=True)
class Works:
    """The work of jobs that need more than the database.

    They revert quotas that only a queue's annotation still records, check the usage of GPUs,
    sample who holds them, sweep caches, search for objects that caches left over, survey the
    sources of datasets, and read the capacity of pools.
    """

    recover_quotas: Work
    look_at_gpus: Work
    sample_gpus: Work
    look_at_caches: Work
    look_for_orphans: Work
    refresh_datasets: Work
    look_at_pools: Work


def declared(works: Works) -> tuple[ScheduledJob, ...]:
    """The jobs."""
    return (
        retention.job,
        snapshot_expiry.job,
        quota_recovery.job(works.recover_quotas),
        gpu_use.job(works.look_at_gpus),
        gpu_samples.job(works.sample_gpus),
        cache_expiry.job(works.look_at_caches),
        dataset_orphans.job(works.look_for_orphans),
        dataset_refresh.job(works.refresh_datasets),
        anf_pools.job(works.look_at_pools),
    )
