"""The playground's cluster for every test here that asks for it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.bot.ground import Outside
from tests.bot.terminal import Terminal


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """A cluster of its own, over HTTP."""
    with closing(Outside(tmp_path)) as made:
        yield made


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A folder with a configuration, and the program run in it."""
    return Terminal(tmp_path)
