"""The bot is killed at every single thing it does to the outside, and the story ends the same."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import played, side_by_side, told

STORY = "kill-matrix"
MOST_EFFECTS = 26
AT_A_TIME = 4
# Two edits of a card are one where the bot was away between them, so the last numbers of a story
# that was disturbed may not come.
MAY_NOT_COME = 3
# An answer goes this way only when it was too late for the acknowledgement.
LATE = {"response_url"}


@dataclass(frozen=True)
class Told:
    """How a story ended: what everybody sees, the names of its effects, and of those struck."""

    seen: list[str]
    effects: list[str]
    struck: list[str]


async def telling(options: Options, faults: Mapping[int, Fault]) -> Told:
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_number = dict(faults)
        worlds.append(world)

    seen = await played(STORY, options, prepare, unreliable=bool(faults))
    (world,) = worlds
    kills = sum(fault in {Fault.KILL_BEFORE, Fault.KILL_AFTER} for fault in faults.values())
    struck = [request.name for request in world.ledger.struck]
    assert world.kills == (kills if struck else 0)
    names = [each.name for each in world.ledger.requests if each.number is not None]
    return Told(seen, names, struck)


@pytest.fixture(scope="module")
def undisturbed(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The story when nothing is killed."""
    out = tmp_path_factory.mktemp("undisturbed")
    told = asyncio.run(telling(Options(out, template=template), {}))
    assert len(told.effects) <= MOST_EFFECTS, told.effects
    return told


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", [Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.LOSE_ANSWER])
def test_story_ends_same_after_fault_at_each_effect(
    fault: Fault, options: Options, undisturbed: Told
) -> None:
    works = [
        (
            f"{fault} at {number}",
            partial(telling, replace(options, out=options.out / f"{number}"), {number: fault}),
        )
        for number in range(1, MOST_EFFECTS + 1)
    ]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    stories = [end for end in ends.values() if isinstance(end, Told)]
    assert [each for each in stories if each.seen != undisturbed.seen] == []
    struck = [name for story in stories for name in story.struck]
    assert len(struck) >= len(undisturbed.effects) - MAY_NOT_COME
    assert set(struck) - LATE == set(undisturbed.effects) - LATE
