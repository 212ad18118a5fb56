"""What a process takes of the processors, which the work of others hardly changes."""

import time

_ALL_THREADS = 2  # CPUCLOCK_SCHED of Linux: to the nanosecond, with threads that have ended


def cpu_seconds(pid: int) -> float:
    """The processor time, in user mode and in the kernel, of a process since its start."""
    return time.clock_gettime((~pid << 3) | _ALL_THREADS)  # as clock_getcpuclockid(3) makes it
