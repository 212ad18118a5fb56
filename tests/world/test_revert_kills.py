"""The bot is killed at each thing it does to put a PVC back in place; the story ends the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import effects, played, side_by_side, told

STORY = "snapshots-in-place"
AT_A_TIME = 2
# The snapshot, the clone of what the PVC holds, what asks Trident, and its removal.
TURNS = (
    ("create volumesnapshots", 1),
    ("create persistentvolumeclaims", 1),
    ("create tridentactionsnapshotrestores", 1),
    ("delete tridentactionsnapshotrestores", 1),
)
FAULTS = (Fault.KILL_BEFORE, Fault.KILL_AFTER)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_putting_back_in_place_outlives_kills(options: Options) -> None:
    works = [(str(fault), _telling(options, fault)) for fault in FAULTS]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    assert len({str(end) for end in ends.values()}) == 1, told(ends)


def _telling(options: Options, fault: Fault) -> Callable[[], Awaitable[list[str]]]:
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = dict.fromkeys(TURNS, fault)
        worlds.append(world)

    async def tell() -> list[str]:
        there = replace(options, out=options.out / str(fault))
        seen = await played(STORY, there, prepare)
        assert worlds[0].kills == len(TURNS), effects(worlds[0])
        return seen

    return tell
