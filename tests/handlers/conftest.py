"""A bot that sees the cluster of the story."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.command_client import CommandClient, opened
from tests.handlers.furnished import Furnished, furnished
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


@pytest.fixture
def plain_client(tmp_path: Path, database_url: str, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, database_url, served) as opened_client:
        yield opened_client


@pytest.fixture
def client(plain_client: CommandClient) -> CommandClient:
    """The plain one; modules whose bot has more settings have their own."""
    return plain_client


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Iterator[Furnished]:
    folder = tmp_path_factory.mktemp("all")
    with Served(runner).serving() as world, furnished(folder, world) as found:
        yield found
