"""The bot dies at each run and card of a sweep; no run is submitted twice, and none is lost."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

KILLS: dict[str, dict[tuple[str, int], Fault]] = {
    "undisturbed": {},
    "jobs": before_and_after([("create jobs", number) for number in (1, 2, 3)]),
    "stop": before_and_after([("create jobs", 6), ("delete jobs", 1)]),
    "posts": {("chat.postMessage", number): Fault.KILL_AFTER for number in (1, 2)},
}


EARLY: dict[str, dict[tuple[str, int], Fault]] = {
    "undisturbed": {},
    "stop": before_and_after([("delete jobs", 1)]),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_at_each_run_change_nothing(options: Options) -> None:
    asyncio.run(ends_same("sweep", options, KILLS))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_at_an_early_stop_change_nothing(options: Options) -> None:
    asyncio.run(ends_same("early_stop", options, EARLY))
