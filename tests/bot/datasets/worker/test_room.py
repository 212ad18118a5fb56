import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.datasets.worker.failures import WorkError
from tests.bot.datasets.worker.fills import Dataset

MAY_MOUNT = os.geteuid() == 0


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    if not MAY_MOUNT:
        pytest.skip("mounting a small file system takes root")
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    made = subprocess.run(mount, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no file systems may be mounted here: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


def failure(dataset: Dataset) -> WorkError:
    with pytest.raises(WorkError) as failed:
        dataset.copy()
    assert dataset.files() is None
    return failed.value


def test_too_small_volume_is_refused_with_numbers(dataset: Dataset, small_volume: Path) -> None:
    dataset.put({"large": bytes(1 << 21)})
    dataset.survey()
    dataset.volume = small_volume
    error = failure(dataset)
    assert (error.reason, error.exit_code) == ("no_room", 65)
    assert error.message == (f"2.0 MiB must still be copied, but {small_volume} has 1.0 MiB free.")
    assert error.hint == "Cache it again with a larger size."


def test_volume_that_fills_up_says_so(dataset: Dataset, small_volume: Path) -> None:
    # Each takes a whole block.
    dataset.put({f"{number:03}": b"x" for number in range(270)})
    dataset.survey()
    dataset.volume = small_volume
    error = failure(dataset)
    assert (error.reason, error.exit_code) == ("no_room", 65)
    assert error.message == f"{small_volume} is full: 0 B are free."


def test_volume_without_room_for_files_is_refused(dataset: Dataset, small_volume: Path) -> None:
    remount = ["mount", "-o", "remount,nr_inodes=9", str(small_volume)]
    subprocess.run(remount, check=True)
    dataset.volume = small_volume
    message = failure(dataset).message
    assert message == f"5 files must still be copied, but {small_volume} has capacity for 4."
