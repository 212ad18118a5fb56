"""The bot is killed at each thing it does to the cluster for a cache; the story ends the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import effects, played, side_by_side, told

STORY = "dataset-cache"
AT_A_TIME = 2
_CREATE, _DELETE = "create persistentvolumeclaims", "delete persistentvolumeclaims"
# Jobs of surveys come first and third, and are left alone. What had no effect is asked once more,
# and counted again: then it has one, which the bot does not hear of.
BEFORE = {
    "claims": ((_CREATE, 1), (_CREATE, 3), (_DELETE, 1)),
    "jobs": (("create jobs", 2), ("delete jobs", 2), ("create jobs", 5), ("delete jobs", 5)),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cache_outlives_kills_at_every_request(options: Options) -> None:
    works = [(which, _telling(options, which)) for which in BEFORE]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    assert len({str(end) for end in ends.values()}) == 1, told(ends)


def _telling(options: Options, which: str) -> Callable[[], Awaitable[list[str]]]:
    turns = dict.fromkeys(BEFORE[which], Fault.KILL_BEFORE)
    turns |= {(name, turn + 1): Fault.KILL_AFTER for name, turn in BEFORE[which]}
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = turns
        worlds.append(world)

    async def tell() -> list[str]:
        there = replace(options, out=options.out / which)
        seen = await played(STORY, there, prepare, unreliable=True)
        assert worlds[0].kills == len(turns), effects(worlds[0])
        return seen

    return tell
