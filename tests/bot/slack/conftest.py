"""A strict Slack on loopback, for every test of what speaks to Slack."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from bot.slack.receiving.transports import Transport
from playground.loopback import reserved_port
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher, by_http, by_sockets
from tests.bot.slack.sending.senders import SenderRig, sender_rig
from tests.playground.slack.conftest import slack, stage
from tests.playground.slack.served import Served, Stage

__all__ = ["slack", "stage"]

Open = Callable[[RecordingDispatcher], AbstractContextManager[Transport]]


@pytest.fixture
def free_port() -> Iterator[int]:
    with reserved_port() as port:
        yield port


@pytest.fixture(params=["sockets", "http"])
def opened(request: pytest.FixtureRequest, slack: Served, free_port: int) -> Open:
    """Opens a dispatcher to the workspace, once by each transport."""
    if request.param == "http":
        return lambda dispatcher: by_http(slack, dispatcher, free_port)
    return lambda dispatcher: by_sockets(slack, dispatcher)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def post(request: pytest.FixtureRequest, stage: Stage, tmp_path: Path) -> Iterator[SenderRig]:
    """A sender between a database of its own and a workspace of its own."""
    url = f"sqlite:///{tmp_path}/bot.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    with sender_rig(stage, url, admin_channel="C0APPROVE") as opened:
        yield opened
