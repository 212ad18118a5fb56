"""The number of CPUs that this container may use."""

import contextlib
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_WORKERS_EACH, _FEWEST, _MOST = 16, 16, 64


def workers(groups: Path = _GROUPS) -> int:
    """The number of objects to read in parallel.

    Sixteen for each CPU keep it busy at 15 ms a request; 128 on two CPUs were slower.
    """
    return max(_FEWEST, min(_MOST, round(_WORKERS_EACH * cpus(groups))))


def cpus(groups: Path = _GROUPS) -> float:
    """The container's CPU limit (cgroups version 2 or 1), else the CPUs of the machine."""
    limits = [_version_2(groups / "cpu.max"), _version_1(groups / "cpu")]
    machine = float(len(os.sched_getaffinity(0)))
    return min([machine, *(limit for limit in limits if limit)])


def _version_2(file: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota, period = file.read_text(encoding="ascii").split()
        return int(quota) / int(period)  # "max" is no number
    return None


def _version_1(folder: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return quota / period if quota > 0 else None
    return None
