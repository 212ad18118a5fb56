"""A node's part of this machine's cgroups: of version 1, of version 2, or of both at once."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = "cgroup.controllers"
_WANTED = ("cpu", "cpuset", "io", "memory", "pids", "hugetlb")


def make(name: str) -> None:
    """Makes a cgroup at the top of each hierarchy."""
    if (_ROOT / _CONTROLLERS).exists():
        served = (_ROOT / _CONTROLLERS).read_text().split()
        wanted = " ".join(f"+{each}" for each in _WANTED if each in served)
        (_ROOT / "cgroup.subtree_control").write_text(wanted)
    for hierarchy in _hierarchies():
        (hierarchy / name).mkdir(exist_ok=True)
        _inherit(hierarchy / name)


def remove(name: str) -> None:
    """Removes it with all that is inside; the processes have ended before."""
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / name, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(folder).rmdir()


def _hierarchies() -> Iterator[Path]:
    if (_ROOT / _CONTROLLERS).exists():
        yield _ROOT
        return
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for _, place, kind, *_ in mounts:
        if kind in {"cgroup", "cgroup2"} and Path(place).parent == _ROOT:
            yield Path(place)


def _inherit(folder: Path) -> None:
    """Gives a cpuset of version 1 what its parent has; it is empty at first."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (folder / name).exists() and not (folder / name).read_text().strip():
            (folder / name).write_text((folder.parent / name).read_text())
