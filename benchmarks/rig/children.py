"""Programs that are timed as a whole: wall clock, processor time, and the most memory they held."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rig.processes import RigError

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Child:
    """How a program ran; `said` is its standard output."""

    wall_seconds: float
    processor_seconds: float
    most_megabytes: float
    said: str


def timed(*commands: Sequence[str], environment: Mapping[str, str] | None = None) -> Child:
    """Runs programs side by side to their ends; RigError when one of them fails.

    Processor times add up, the memory is that of the largest.
    """
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        running = [
            subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said)  # noqa: S603  # ours
            for command in commands
        ]
        ends = [os.wait4(process.pid, 0) for process in running]
        wall = time.perf_counter() - began
        for process, (_, status, _) in zip(running, ends, strict=True):
            process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode()
    if codes := [process.returncode for process in running if process.returncode]:
        raise RigError(f"{commands[0][:3]} ended with {codes}: {words[-500:]}")
    used = [usage for _, _, usage in ends]
    return Child(
        wall,
        sum(usage.ru_utime + usage.ru_stime for usage in used),
        max(usage.ru_maxrss for usage in used) * 1024 / 1e6,
        words,
    )


def python(*words: str) -> list[str]:
    """A module of ours, in a process of its own."""
    return [sys.executable, "-m", *words]
