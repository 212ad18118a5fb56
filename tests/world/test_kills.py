"""The bot is killed at every single thing it does to the outside, and the story ends the same."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.forked import forked
from tests.world.telling import played, side_by_side, told

STORY = "kill-matrix"
MOST_EFFECTS = 26
AT_A_TIME = 4
# Two edits of a card are one where the bot was away between them, and an answer goes to the
# response_url only when it was too late for the acknowledgement: these may come less often in a
# story that was disturbed.
MAY_NOT_COME = {"chat.update", "response_url"}

Turn = tuple[str, int]
"""The name of an effect, and the how manieth of that name it is, from 1."""


@dataclass(frozen=True)
class Told:
    """How a story ended: what everybody sees, its effects by name, and how many were struck."""

    seen: list[str]
    effects: list[Turn]
    struck: int


async def telling(options: Options, faults: Mapping[Turn, Fault]) -> Told:
    worlds: list[World] = []

    def prepare(world: World) -> None:
        world.ledger.by_turn = dict(faults)
        worlds.append(world)

    seen = await played(STORY, options, prepare, unreliable=bool(faults))
    (world,) = worlds
    kills = sum(fault in {Fault.KILL_BEFORE, Fault.KILL_AFTER} for fault in faults.values())
    struck = len(world.ledger.struck)
    assert world.kills == (kills if struck else 0)
    counted: Counter[str] = Counter()
    effects: list[Turn] = []
    for request in world.ledger.requests:
        counted[request.name] += 1
        if request.number is not None:
            effects.append((request.name, counted[request.name]))
    return Told(seen, effects, struck)


@pytest.fixture(scope="module")
def undisturbed(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The story when nothing is killed."""
    out = tmp_path_factory.mktemp("undisturbed")
    told = asyncio.run(telling(Options(out, template=template, launch=forked), {}))
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
            f"{fault} at {name} {count}",
            partial(
                telling, replace(options, out=options.out / f"{place}"), {(name, count): fault}
            ),
        )
        for place, (name, count) in enumerate(undisturbed.effects)
    ]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    failed = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
    assert not failed, told(failed)
    stories = [end for end in ends.values() if isinstance(end, Told)]
    assert [each for each in stories if each.seen != undisturbed.seen] == []
    missed = {
        turn for turn, story in zip(undisturbed.effects, stories, strict=True) if not story.struck
    }
    assert {turn for turn in missed if turn[0] not in MAY_NOT_COME} == set()
    assert ("chat.update", 1) not in missed
