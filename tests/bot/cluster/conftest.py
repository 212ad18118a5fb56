"""Fixtures for talking to an API server that a test writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cluster.api.client import Client
from bot.cluster.api.connection import Connection, Timeouts
from tests.bot.cluster.api.api_server import ApiServer, serving, write_kubeconfig

pytest.register_assert_rewrite("tests.bot.cluster.api.watching")  # its asserts show values too

PATIENT = Timeouts(connect=30.0, read=30.0, whole=60.0, renewals_apart=0.0)
"""Longer than any machine is busy; HASTY is for servers that never answer."""

HASTY = Timeouts(connect=30.0, read=0.4, whole=0.8, renewals_apart=0.0)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with serving() as running:
        yield running


@pytest.fixture
def kubeconfig(tmp_path: Path, server: ApiServer) -> Path:
    return write_kubeconfig(tmp_path / "kubeconfig", server.url, user={"token": "first-token"})


@pytest.fixture
def connection(kubeconfig: Path) -> Connection:
    return Connection.to(str(kubeconfig), timeouts=PATIENT)


@pytest.fixture
def hasty(kubeconfig: Path) -> Connection:
    return Connection.to(str(kubeconfig), timeouts=HASTY)


@pytest.fixture
def client(connection: Connection) -> Client:
    return Client("default", connection)


@pytest.fixture
def hasty_client(hasty: Connection) -> Client:
    return Client("default", hasty)
