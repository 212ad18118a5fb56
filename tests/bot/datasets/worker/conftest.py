import random
from pathlib import Path

import pytest

from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.pushes import Folder
from tests.object_stores import Lake

SMALL = {
    "a/one": b"1" * 1000,
    "a/b/two": b"2" * 2000,
    "c/three": b"3" * 3000,
    "empty": b"",
    "é ü+%20&": b"4",
}


@pytest.fixture
def dataset(lake: Lake, tmp_path: Path) -> Dataset:
    """A few small objects, surveyed."""
    volume = tmp_path / "volume"
    volume.mkdir()
    found = Dataset(lake, lake.bucket(), volume)
    found.put(SMALL)
    found.survey()
    return found


@pytest.fixture
def chance() -> random.Random:
    return random.Random(11)  # noqa: S311  # nothing secret


@pytest.fixture
def folder(lake: Lake, tmp_path: Path) -> Folder:
    """A few small files to be pushed."""
    root = tmp_path / "volume" / "results"
    root.mkdir(parents=True)
    found = Folder(lake, lake.bucket(), root)
    found.write(SMALL)
    return found
