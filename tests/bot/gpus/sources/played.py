"""The playground's Prometheus on loopback, beside a cluster whose time moves by hand."""

import asyncio
from collections.abc import Coroutine, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from playground.loopback import Loopback, Receive, Scope, Send
from playground.prometheus.past import NAME
from playground.prometheus.service import Prometheus
from tests.bot.ground import Outside
from tests.prometheus import Scraped

T = TypeVar("T")
Query = tuple[str, tuple[tuple[str, str], ...]]


class Played:
    """One for the cluster that is outside, which notes what it is asked."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._servers = Loopback()
        self.prometheus = Prometheus(outside.cluster, outside.clock.now)
        self.asked: list[Query] = []
        self.url = self._run(self._serve())

    def close(self) -> None:
        """Ends the server."""
        self._run(self._servers.close())

    def passes(self, **length: float) -> None:
        """Lets time pass in the cluster."""
        self._outside.clock.moment += timedelta(**length)
        self._outside.cluster.settle()

    def scraped(self) -> Scraped:
        """All of what it scraped, for another Prometheus."""
        found, past = Scraped(), self.prometheus.past
        now = self._outside.clock.now().timestamp()
        for pairs, series in past.series():
            labels = dict(pairs)
            name = labels.pop(NAME)
            for moment in past.scrapes(now - timedelta(days=2).total_seconds(), now):
                value = series.at(moment)
                if value is not None:
                    at = datetime.fromtimestamp(moment, UTC)
                    found.add(name, labels, (at, at + timedelta(minutes=1)), value)
        return found

    async def _serve(self) -> str:
        return self._servers.serve(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> MutableMapping[str, Any]:
            message = await receive()
            if message.get("body"):
                words = tuple(parse_qsl(message["body"].decode()))
                self.asked.append((str(scope["path"]), words))
            return message

        await self.prometheus.app(scope, heard, send)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._outside.loop).result(60)
