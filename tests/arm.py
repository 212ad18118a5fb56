"""The playground's Resource Manager on loopback, for the real SDK."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from playground.arm.app import IDENTITY, ArmApp
from playground.arm.estate import Estate
from playground.ledger import Ledger
from playground.loopback import Loopback
from tests.moments import off_the_minute

PATIENCE_SECONDS = 60
START = off_the_minute(datetime(2026, 11, 22, 9, tzinfo=UTC))


class Arm:
    """A subscription with an account, and the address it is served at; `now` is its time
    unless it goes by a clock of others.

    Pools: standard of 4 TiB, premium of 2 TiB, ultra of 1 TiB and tuned of 2 TiB of Premium with
    manual QoS.
    """

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self.now = START
        self.ledger = Ledger()
        self.app = ArmApp(self.ledger, now or (lambda: self.now))
        self.url = ""
        account = self.estate.add_account()
        self.standard = self.estate.add_pool(account, "standard", "Standard", 4)
        self.premium = self.estate.add_pool(account, "premium", "Premium", 2)
        self.ultra = self.estate.add_pool(account, "ultra", "Ultra", 1)
        self.tuned = self.estate.add_pool(account, "tuned", "Premium", 2)
        self.tuned.qos = "Manual"

    @property
    def estate(self) -> Estate:
        """What there is."""
        return self.app.estate

    @property
    def identity(self) -> dict[str, str]:
        """The environment of a process with an identity of its own, as App Service makes it."""
        return {
            "IDENTITY_ENDPOINT": f"{self.url}{IDENTITY}",
            "IDENTITY_HEADER": self.app.identity_header,
        }

    def asked(self) -> list[str]:
        """The requests so far, `GET volumes`."""
        return [each.name for each in self.ledger.requests]

    def later(self, duration: timedelta = timedelta(minutes=1)) -> None:
        """Lets time pass there; a minute is enough for any operation."""
        self.now += duration


@contextmanager
def served(arm: Arm) -> Iterator[Arm]:
    """Serves it by a thread while the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    servers = Loopback()

    async def serve() -> str:
        return servers.serve(arm.app)

    arm.url = asyncio.run_coroutine_threadsafe(serve(), loop).result(PATIENCE_SECONDS)
    _wait_until_it_answers(arm)
    try:
        yield arm
    finally:
        asyncio.run_coroutine_threadsafe(servers.close(), loop).result(PATIENCE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_SECONDS)
        loop.close()


def _wait_until_it_answers(arm: Arm) -> None:
    """A server that is stopped before it has begun leaves its socket open."""
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{arm.url}{IDENTITY}", timeout=PATIENCE_SECONDS)
    refused.value.close()


@pytest.fixture
def arm() -> Iterator[Arm]:
    with served(Arm()) as running:
        yield running
