"""How much is fuzzed, and from which seed."""

from collections.abc import Iterator

import pytest

from tests.playground.cluster.served import Runner


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    started = Runner()
    with started.running():
        yield started
