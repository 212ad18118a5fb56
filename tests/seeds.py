"""The chance that simulated time begins with: another each time, and repeatable."""

from random import SystemRandom

import pytest

_OPTION = "--world-seed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that repeats a failure: a story's report names its seed."""
    parser.addoption(_OPTION, type=int, help="How late events of a story are seen, repeated.")


def world_seed(config: pytest.Config) -> int:
    """The seed that was asked for, or any."""
    asked: int | None = config.getoption(_OPTION)
    return SystemRandom().randrange(1_000_000) if asked is None else asked
