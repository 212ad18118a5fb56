"""What a soak begins with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soak.disk import Disk, mounted
from tests.world.conftest import options, template

__all__ = ["disk", "options", "template"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk | None]:
    with mounted(tmp_path / "disk") as found:
        yield found
