"""The bot dies at each Job of a chain of runs; none is created twice, none early, none is lost."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

KILLS: dict[str, dict[tuple[str, int], Fault]] = {
    "undisturbed": {},
    "first": before_and_after([("create jobs", 1)]),
    "second": before_and_after([("create jobs", 2)]),
}


@pytest.mark.slow
def test_kills_at_each_job_change_nothing(options: Options) -> None:
    asyncio.run(ends_same("flow", options, KILLS))
