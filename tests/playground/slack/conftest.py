from collections.abc import Iterator

import pytest

from tests.playground.slack.served import Served, Stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with stage.running():
        yield stage


@pytest.fixture
def slack(stage: Stage) -> Iterator[Served]:
    with stage.workspace() as running:
        yield running
