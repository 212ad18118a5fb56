"""All jobs of the timetable."""

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

JOBS = (
    retention.job,
    snapshot_expiry.job,
    quota_recovery.job,
    gpu_use.job,
    gpu_samples.job,
    cache_expiry.job,
    dataset_orphans.job,
    dataset_refresh.job,
    anf_pools.job,
)
