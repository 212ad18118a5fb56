"""What tests of files from Slack share."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bot.clock import Clock
from tests.bot.datasets.drops.dropping import SETTINGS, Dropping
from tests.handlers.command_client import opened
from tests.object_stores import Lake
from tests.playground.cluster.conftest import runner, served
from tests.playground.cluster.served import Served as ServedCluster
from tests.playground.slack.conftest import slack, stage
from tests.playground.slack.served import Served

__all__ = ["runner", "served", "slack", "stage"]

Open = Callable[[str], AbstractContextManager[Dropping]]


@pytest.fixture
def through(tmp_path: Path, served: ServedCluster, lake: Lake, slack: Served) -> Open:
    """Opens the bot with another endpoint of its store, such as a proxy's."""

    @contextmanager
    def open_through(endpoint: str) -> Iterator[Dropping]:
        bucket, clock = lake.bucket(), Clock()
        filled = {"ENDPOINT": endpoint, "KEYS": str(lake.credentials), "BUCKET": bucket}
        settings = re.sub("ENDPOINT|KEYS|BUCKET", lambda found: filled[found.group()], SETTINGS)
        url = f"sqlite:///{tmp_path}/test.db"
        with opened(tmp_path, url, served, settings, clock=clock) as client:
            yield Dropping(client, clock, slack, lake, bucket, endpoint)

    return open_through


@pytest.fixture
def rig(through: Open, lake: Lake) -> Iterator[Dropping]:
    """A bot without anything dropped yet."""
    with through(lake.server.endpoint) as opened_one:
        yield opened_one
