"""FSx on loopback, with keys for whoever is to ask it."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from bot.config import FsxService
from playground.fsx.app import REGION, FsxApp
from playground.fsx.signing import ACCESS_KEY, SECRET_KEY
from playground.loopback import Loopback
from tests.bot.ground import Outside

T = TypeVar("T")


class Region:
    """One region, in the playground's time, on the loop of what else is outside."""

    def __init__(self, outside: Outside, folder: Path) -> None:
        self._outside = outside
        self._servers = Loopback()
        self.app = FsxApp(outside.ledger, outside.clock.now)
        self.estate = self.app.estate
        self.keys = folder / "fsx-keys"
        self.keys.mkdir()
        self.give_keys()
        self.url = self._run(self._serve())

    def service(self, **more: str) -> FsxService:
        """What the configuration says of it."""
        told = {"region": REGION, "endpoint": self.url, "credentials": str(self.keys), **more}
        return FsxService.model_validate(told)

    def give_keys(self, secret: str = SECRET_KEY) -> None:
        """Writes the keys that the bot reads."""
        (self.keys / "access-key-id").write_text(ACCESS_KEY)
        (self.keys / "secret-access-key").write_text(f"{secret}\n")

    def asked(self) -> list[str]:
        """The operations that reached it, in order."""
        return [each.name for each in self._outside.ledger.requests if each.service == "fsx"]

    def close(self) -> None:
        """Ends the server."""
        self._run(self._servers.close())

    async def _serve(self) -> str:
        return self._servers.serve(self.app)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._outside.loop).result(60)
