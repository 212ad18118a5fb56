"""A browser for all tests, and for each a world with its page."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from playground.page.stage import Stage
from playground.settings import Setup
from playground.world import Options, World
from tests.browser.devtools import PATIENCE_SECONDS, Tab, browser, new_tab, program
from tests.playground.page.shown import showing
from tests.playground.slack.served import Served

T = TypeVar("T")
ALICE, TEAM_A = "U0ALICE", "C0TEAMA"


HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves this folder out of runs that do not name it."""
    named = [Path(each.partition("::")[0]).resolve() for each in config.args]
    return None if any(path == HERE or HERE in path.parents for path in named) else True


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    if program() is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with browser() as address:
        yield address


@dataclass(frozen=True)
class Played:
    """A world whose bot is not started, and a tab of its page; `slack` acts where it lives."""

    world: World
    stage: Stage
    slack: Served
    tab: Tab
    url: str


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[Played]:
    """The page as Alice sees it, in #team-a; the test fails on any exception in the page."""
    with contextlib.ExitStack() as stack:
        loop = asyncio.new_event_loop()
        world, stage, url = stack.enter_context(running(loop, tmp_path))
        tab = stack.enter_context(new_tab(chromium))
        tab.resize(1440, 900)
        yield Played(world, stage, Served(world.slack, loop), tab, url)
        assert tab.problems == []


@contextlib.contextmanager
def running(loop: asyncio.AbstractEventLoop, folder: Path) -> Iterator[tuple[World, Stage, str]]:
    """The world in a thread of its own, for tests that block."""
    options = replace(Options(folder / "world"), setup=Setup(prometheus=True))
    with entered(loop, showing(options)) as shown:
        yield shown


@contextlib.contextmanager
def entered(loop: asyncio.AbstractEventLoop, shows: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What a context gives, in a loop that a thread of its own runs and closes."""
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(shows.__aenter__(), loop).result(PATIENCE_SECONDS)
    finally:
        ends = shows.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(ends, loop).result(PATIENCE_SECONDS)
        asyncio.run_coroutine_threadsafe(_end_tasks(), loop).result(PATIENCE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_SECONDS)
        loop.close()


async def _end_tasks() -> None:
    """Cancels what still runs, such as the stream of a window that has just been closed."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@pytest.fixture
def opened(page: Played) -> Played:
    """The same, once the page is there."""
    page.tab.open(page.url)
    page.tab.until("document.querySelector('.composer textarea:enabled')")
    return page
