"""Two bots share one PostgreSQL, and one of them is killed for good."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.postgres import PostgresServer
from tests.world.telling import effects, played, side_by_side, told

STORY = "kill-matrix"
MOMENTS = (2, 9, 16)


def kill_one(world: World, number: int) -> None:
    """Has the first bot die at an effect, and stay dead."""
    world.revives = False
    world.pace.patience_seconds = 300  # the steps of the dead are taken over after 90 s
    world.ledger.by_number[number] = Fault.KILL_AFTER


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_second_bot_finishes_what_a_killed_one_began(
    options: Options, postgres_server: PostgresServer
) -> None:
    def given(name: str) -> Options:
        url = postgres_server.fresh()
        return replace(options, out=options.out / name, template=None, database_url=url, bots=2)

    worlds: list[World] = []
    undisturbed = asyncio.run(played(STORY, given("undisturbed"), worlds.append))
    kinds = [effect.split()[1] for effect in effects(worlds[0])]
    assert (kinds.count("create"), kinds.count("patch")) == (1, 2)
    works = [
        (
            f"killed at {number}",
            partial(
                played, STORY, given(f"{number}"), partial(kill_one, number=number), unreliable=True
            ),
        )
        for number in MOMENTS
    ]
    ends = asyncio.run(side_by_side(works, len(works)))
    other = {name: end for name, end in ends.items() if end != undisturbed}
    assert not other, told(other)
