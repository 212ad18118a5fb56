"""A Run:ai on loopback for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.quotas.engines.runai.plane import ControlPlane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    served = ControlPlane(tmp_path)
    yield served
    served.close()
