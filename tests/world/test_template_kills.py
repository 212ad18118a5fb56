"""The bot dies at each request of a run's move; the run is never in two clusters, nor lost."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

# The second Job waits on the first template, and the third is the same run on the second one. The
# sixth is that of the run whose cost was approved.
KILLS: dict[str, dict[tuple[str, int], Fault]] = {
    "undisturbed": {},
    "creation": before_and_after([("create jobs", 2)]),
    "deletion": before_and_after([("delete jobs", 1)]),
    "creation elsewhere": before_and_after([("create jobs", 3)]),
    "approval": before_and_after([("create jobs", 6)]),
}


@pytest.mark.slow
def test_kills_at_each_move_change_nothing(options: Options) -> None:
    asyncio.run(ends_same("compute-templates", options, KILLS))
