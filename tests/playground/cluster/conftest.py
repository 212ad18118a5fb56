from collections.abc import Iterator

import pytest

from tests.playground.cluster.served import Runner, Served


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    started = Runner()
    with started.running():
        yield started


@pytest.fixture
def served(runner: Runner) -> Iterator[Served]:
    with Served(runner).serving() as running:
        yield running
