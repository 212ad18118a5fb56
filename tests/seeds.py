"""The chance that simulated time and random requests begin with: repeatable."""

from random import SystemRandom

import pytest

_WORLD, _FUZZ, _ACTS, _BATCH = "--world-seed", "--fuzz-seed", "--fuzz-acts", "--fuzz-batch"
_KILLS, _FAULTS, _EXAMPLES = "--commit-kills", "--database-faults", "--machine-examples"
_SOAK = "--soak-hours"
_IN_EVERY_RUN = 20_000
_USUAL_SEED = 1
_KILLS_IN_EVERY_RUN = 4
_FAULTS_IN_EVERY_RUN = 4
_EXAMPLES_IN_EVERY_RUN = 5
_HOURS_IN_EVERY_RUN = 0.03


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that repeat a failure: its report names them."""
    parser.addoption(_WORLD, type=int, help="How late events of a story are seen, repeated.")
    what = "What random people say and click; 0 for any."
    parser.addoption(_FUZZ, type=int, default=_USUAL_SEED, help=what)
    parser.addoption(_ACTS, type=int, default=_IN_EVERY_RUN, help="How much they say and click.")
    parser.addoption(_BATCH, type=int, help="Only this batch of it.")
    often = "How often a bot is killed at a random commit."
    parser.addoption(_KILLS, type=int, default=_KILLS_IN_EVERY_RUN, help=often)
    much = "How many faults of a database two bots live through."
    parser.addoption(_FAULTS, type=int, default=_FAULTS_IN_EVERY_RUN, help=much)

    many = "How many stories of what must never happen are made up."
    parser.addoption(_EXAMPLES, type=int, default=_EXAMPLES_IN_EVERY_RUN, help=many)
    long = "For how many hours everything fails at random."
    parser.addoption(_SOAK, type=float, default=_HOURS_IN_EVERY_RUN, help=long)


def world_seed(config: pytest.Config) -> int:
    """The seed that was asked for, or any."""
    return _seed(config, _WORLD)


def fuzz_seed(config: pytest.Config) -> int:
    """The seed that was asked for; the same in every usual run, which has to be reliable."""
    return int(config.getoption(_FUZZ)) or SystemRandom().randrange(1, 1_000_000)


def fuzz_batches(config: pytest.Config, size: int) -> range:
    """The numbers of the batches that were asked for."""
    only: int | None = config.getoption(_BATCH)
    return range(-(-config.getoption(_ACTS) // size)) if only is None else range(only, only + 1)


def commit_kills(config: pytest.Config) -> int:
    """How often a bot is to be killed at a random commit."""
    return int(config.getoption(_KILLS))


def database_faults(config: pytest.Config) -> int:
    """How many faults of a database are to happen."""
    return int(config.getoption(_FAULTS))


def machine_examples(config: pytest.Config) -> int:
    """How many stories are to be made up."""
    return int(config.getoption(_EXAMPLES))


def soak_hours(config: pytest.Config) -> float:
    """For how long everything is to fail."""
    return float(config.getoption(_SOAK))


def _seed(config: pytest.Config, option: str) -> int:
    asked: int | None = config.getoption(option)
    return SystemRandom().randrange(1_000_000) if asked is None else asked
