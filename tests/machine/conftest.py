"""Servers that last for all examples."""

from pathlib import Path

import pytest

from bot.database import schema
from tests.fuzz.conftest import runner
from tests.playground.slack.conftest import stage

__all__ = ["runner", "stage", "template"]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("machine") / "bot.db"
    schema.upgrade(f"sqlite:///{path}")
    return path
