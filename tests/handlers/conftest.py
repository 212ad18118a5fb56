"""An office that sees the cluster of the story."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.furnished import Furnished, furnished
from tests.handlers.office import Office, opened
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
def office(tmp_path: Path, database_url: str, served: Served) -> Iterator[Office]:
    with opened(tmp_path, database_url, served) as open_office:
        yield open_office


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Iterator[Furnished]:
    folder = tmp_path_factory.mktemp("all")
    with Served(runner).serving() as world, furnished(folder, world) as found:
        yield found
