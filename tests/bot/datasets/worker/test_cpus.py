import os
from pathlib import Path

import pytest

from bot.datasets.worker.cpus import cpus, workers

MACHINE = len(os.sched_getaffinity(0))


def groups(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"cpu.max": "max 100000\n"}, MACHINE),
        ({"cpu/cpu.cfs_quota_us": "25000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.25),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, MACHINE),
        ({}, MACHINE),
    ],
)
def test_processors_are_those_of_the_container(
    tmp_path: Path, files: dict[str, str], expected: float
) -> None:
    assert cpus(groups(tmp_path, files)) == expected


def test_small_container_still_has_sixteen_workers(tmp_path: Path) -> None:
    assert workers(groups(tmp_path, {"cpu.max": "10000 100000"})) == 16
