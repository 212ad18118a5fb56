"""The object store of a soak behind a proxy that fails when it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.bot.datasets.worker.proxy import Exchange, Proxy, proxied


class Store:
    """Spoils the next so many answers, each in its own way."""

    def __init__(self) -> None:
        self.spoilt = 0
        self._left = 0
        self._random = Random()  # noqa: S311  # replaced by that of the soak
        self._proxy: Proxy | None = None

    @contextmanager
    def before(self, endpoint: str, configuration: Path) -> Iterator[None]:
        """Has a bot that starts by this configuration go through the proxy."""
        with proxied(endpoint, after=self._spoil) as self._proxy:
            text = configuration.read_text("utf-8")
            assert endpoint in text
            configuration.write_text(text.replace(endpoint, self._proxy.endpoint), "utf-8")
            yield

    def fail(self, many: int, random: Random) -> None:
        """The next so many answers are not what they should be."""
        self._left, self._random = many, random

    def heal(self) -> None:
        """Forgets the answers of before; what is still to be spoilt meets who asks next.

        Jobs that copy begin late in a round: else most of it would meet none.
        """
        if self._proxy is not None:
            self._proxy.exchanges.clear()

    def _spoil(self, exchange: Exchange) -> None:
        """503 as S3 words it, a lost answer, or a body that ends in its middle."""
        if self._left <= 0:
            return
        self._left -= 1
        self.spoilt += 1
        kind = self._random.randrange(3)
        if kind == 0:
            exchange.answer(503, "SlowDown")
        elif kind == 1 or not exchange.body:
            exchange.lose()
        else:
            exchange.sent_bytes = len(exchange.body) // 2
