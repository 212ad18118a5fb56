"""The bot is killed at each thing it asks of Azure for a boost; it goes there and back once."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import effects, played

_SET = "PATCH volumes"
# There and back, each killed before its effect, asked again, and killed after it.
_FAULTS = (Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.KILL_BEFORE, Fault.KILL_AFTER)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_boost_outlives_kills_at_every_request(options: Options) -> None:
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = {(_SET, turn): each for turn, each in enumerate(_FAULTS, 1)}
        worlds.append(world)

    asyncio.run(played("dataset-boost", options, prepare, unreliable=True))
    (world,) = worlds
    assert world.azure is not None
    begun = world.azure.app.routes.operations.all
    assert (world.kills, len(begun)) == (len(_FAULTS), 2), effects(world)
