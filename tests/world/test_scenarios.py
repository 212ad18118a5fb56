"""Every story is told as it is written, with a real bot; and doubled deliveries change nothing."""

import asyncio

import pytest

from playground import scenarios
from playground.world import Options, World
from tests.world.telling import effects, played


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in scenarios.summaries() if name != "kill-matrix"])
def test_scenario_goes_as_it_is_told(name: str, options: Options) -> None:
    asyncio.run(played(name, options))


@pytest.mark.slow
def test_every_delivery_doubled_has_one_effect(options: Options) -> None:
    worlds: list[World] = []

    def double(world: World) -> None:
        world.slack.faults.doubled = True
        worlds.append(world)

    asyncio.run(played("kill-matrix", options, double, unreliable=True))
    assert [effect.split()[1] for effect in effects(worlds[0])].count("create") == 1
