"""The page with a real bot: a story plays at the pace of its reader, and another world follows."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from playground import scenarios
from playground.loopback import PLAIN_HTTP, Loopback
from playground.page.app import Page
from playground.page.stage import Stage
from playground.world import Options
from tests.forked import forked


async def until(stage: Stage, state: str) -> None:
    """Waits for the story to get there, pressing on at each step."""
    while (playing := stage.stories()["playing"]) is None or playing["state"] != state:
        assert stage.trouble == ""
        assert playing is None or playing["state"] != "failed", playing["said"]
        if stage.reading is not None:
            stage.reading.skip()
        await stage.wait(0.2)


@pytest.mark.slow
def test_story_plays_as_it_is_read(tmp_path: Path) -> None:
    async def play() -> None:
        stage, servers = Stage(Options(tmp_path / "world", launch=forked)), Loopback()
        page = Page(stage)
        url = servers.serve(page.app) + page.path
        stage.begin(scenarios.named("a-failing-run"))
        try:
            await until(stage, "ended")
            assert stage.reading is not None
            assert stage.reading.step is not None
            assert stage.reading.step["person"] == "U0ALICE"
            assert stage.world is not None
            first = stage.world
            async with httpx.AsyncClient(
                base_url=url, trust_env=False, verify=PLAIN_HTTP
            ) as client:
                assert (await client.post("stories/begin", json={})).status_code == 200
            while stage.world in (None, first) or stage.is_starting:
                assert stage.trouble == ""
                await stage.wait(0.2)
            assert stage.turn == 2
            assert stage.stories()["playing"] is None
        finally:
            await page.close()
            await servers.close()
            await stage.close()

    asyncio.run(play())


@pytest.mark.slow
def test_broken_start_is_told_on_page(tmp_path: Path) -> None:
    async def play() -> None:
        options = Options(tmp_path / "world", launch=forked)
        broken: dict[str, Any] = {"teams": {"team-a": {"chanels": []}}}
        stage = Stage(replace(options, setup=replace(options.setup, settings=broken)))
        stage.begin()
        try:
            while not stage.trouble:
                await stage.wait(0.2)
            assert "chanels" in stage.trouble
            assert stage.is_starting is False
        finally:
            await stage.close()

    asyncio.run(play())
