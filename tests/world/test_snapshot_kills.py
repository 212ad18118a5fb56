"""The bot is killed at each thing it does for snapshots of runs; the story ends the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import effects, played, side_by_side, told

STORY = "snapshot-runs"
AT_A_TIME = 2
_JOB, _TAKE, _MAKE = "create jobs", "create volumesnapshots", "create persistentvolumeclaims"
_POST = "chat.postMessage"
# The root of the first run, its snapshot, the PVC of the one that goes on from it, that one's
# root, and its own snapshot; of the roots the second is left alone. What had no effect is asked
# once more, and counted again: then it has one, which the bot does not hear of.
BEFORE = ((_JOB, 1), (_TAKE, 1), (_MAKE, 1), (_JOB, 4), (_TAKE, 3))
TURNS = {
    "cluster": dict.fromkeys(BEFORE, Fault.KILL_BEFORE)
    | {(name, turn + 1): Fault.KILL_AFTER for name, turn in BEFORE},
    "posts": {(_POST, number): Fault.KILL_AFTER for number in range(1, 12)},
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_snapshots_of_runs_outlive_kills(options: Options) -> None:
    works = [(which, _telling(options, which)) for which in TURNS]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    assert len({str(end) for end in ends.values()}) == 1, told(ends)


def _telling(options: Options, which: str) -> Callable[[], Awaitable[list[str]]]:
    turns = TURNS[which]
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = dict(turns)
        worlds.append(world)

    async def tell() -> list[str]:
        there = replace(options, out=options.out / which)
        seen = await played(STORY, there, prepare, unreliable=True)
        assert worlds[0].kills == len(turns), effects(worlds[0])
        return seen

    return tell
