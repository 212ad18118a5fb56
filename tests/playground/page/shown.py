"""The page of a world without a bot, for clients that ask it by HTTP."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from playground.loopback import PLAIN_HTTP, Loopback
from playground.opening import opened
from playground.page.app import Page
from playground.page.stage import Stage
from playground.settings import Setup
from playground.world import Options, World

Json = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """A world, its page and a browser's requests to it."""

    world: World
    stage: Stage
    client: httpx.AsyncClient

    async def act(self, verb: str, **body: Any) -> tuple[int, Json]:
        """What somebody does, with the status and body of the answer."""
        return await self.post(f"acts/{verb}", **body)

    async def post(self, path: str, **body: Any) -> tuple[int, Json]:
        """The status and body of an answer."""
        answer = await self.client.post(path, json=body)
        return answer.status_code, answer.json()

    async def told(self, user: str, until: str) -> list[tuple[str, Json]]:
        """The events of the stream of one person, up to the first of this name."""
        found = []
        async with self.client.stream("GET", "events", params={"as": user}) as answer:
            name = ""
            async for line in answer.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    found.append((name, json.loads(line.removeprefix("data: "))))
                    if name == until:
                        break
        return found


@contextlib.asynccontextmanager
async def showing(options: Options) -> AsyncIterator[tuple[World, Stage, str]]:
    """A world whose bot is not started, on a stage, and the address of the page."""
    async with opened(options) as world:
        stage, servers = Stage(options), Loopback()
        stage.world, stage.turn, stage.is_starting = world, 1, False
        page = Page(stage)
        try:
            yield world, stage, servers.serve(page.app) + page.path
        finally:
            await page.close()
            await servers.close()


def shown(
    tmp_path: Path, play: Callable[[Shown], Awaitable[None]], setup: Setup | None = None
) -> None:
    """Plays something on the page of a world."""

    async def run() -> None:
        options = replace(Options(tmp_path / "world"), setup=setup or Setup())
        async with (
            showing(options) as (world, stage, url),
            httpx.AsyncClient(
                base_url=url, trust_env=False, verify=PLAIN_HTTP, timeout=60
            ) as client,
        ):
            await play(Shown(world, stage, client))

    asyncio.run(run())
