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
# The end of the first run, its snapshot, the PVC of the one that goes on from it, that one's root,
# and its own snapshot. A request that had no effect is made once more, and counted again. Of two
# in a row one is left alone, so that the bot is back before it is killed again.
TURNS = {
    (Fault.KILL_AFTER, "cluster"): ((_JOB, 1), (_TAKE, 1), (_MAKE, 1), (_JOB, 3), (_TAKE, 2)),
    (Fault.KILL_BEFORE, "cluster"): ((_JOB, 1), (_TAKE, 1), (_MAKE, 1), (_JOB, 4), (_TAKE, 3)),
    (Fault.KILL_AFTER, "odd posts"): tuple((_POST, number) for number in range(1, 12, 2)),
    (Fault.KILL_AFTER, "even posts"): tuple((_POST, number) for number in range(2, 12, 2)),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_snapshots_of_runs_outlive_kills(options: Options) -> None:
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
        there = replace(options, out=options.out / f"{fault}-{which.replace(' ', '-')}")
        seen = await played(STORY, there, prepare, unreliable=True)
        assert worlds[0].kills == len(turns), effects(worlds[0])
        return seen

    return tell
