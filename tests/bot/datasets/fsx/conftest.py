"""FSx on loopback for every test here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.datasets.fsx.client import Fsx
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import Outside


@pytest.fixture
def region(outside: Outside, tmp_path: Path) -> Iterator[Region]:
    made = Region(outside, tmp_path)
    yield made
    made.close()


@pytest.fixture
def fsx(region: Region) -> Iterator[Fsx]:
    made = Fsx(region.service())
    yield made
    made.close()
