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
# Jobs of surveys come first and third. Of two requests in a row one is left alone, so that the bot
# is back before it is killed again; one that had no effect is made once more, and counted again.
TURNS = {
    (Fault.KILL_AFTER, "odd"): (
        (_CREATE, 1), ("delete jobs", 2), (_CREATE, 2), ("delete jobs", 4),
    ),
    (Fault.KILL_AFTER, "even"): (("create jobs", 2), ("create jobs", 4), (_DELETE, 1)),
    (Fault.KILL_BEFORE, "odd"): (
        (_CREATE, 1), ("delete jobs", 2), (_CREATE, 3), ("delete jobs", 5),
    ),
    (Fault.KILL_BEFORE, "even"): (("create jobs", 2), ("create jobs", 5), (_DELETE, 1)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cache_outlives_kills_at_every_request(options: Options) -> None:
    works = [(f"{fault} {which}", _telling(options, fault, which)) for fault, which in TURNS]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    assert len({str(end) for end in ends.values()}) == 1, told(ends)


def _telling(options: Options, fault: Fault, which: str) -> Callable[[], Awaitable[list[str]]]:
    turns = TURNS[fault, which]
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = dict.fromkeys(turns, fault)
        worlds.append(world)

    async def tell() -> list[str]:
        there = replace(options, out=options.out / f"{fault}-{which}")
        seen = await played(STORY, there, prepare, unreliable=True)
        assert worlds[0].kills == len(turns), effects(worlds[0])
        return seen

    return tell
