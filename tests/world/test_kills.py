"""The bot is killed at every single thing it does to the outside, and the story ends the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from playground.ledger import Fault
from playground.world import Options, World
from tests.world.telling import effects, played, side_by_side, told

STORY = "kill-matrix"
MOST_EFFECTS = 26
AT_A_TIME = 4


@pytest.fixture(scope="module")
def undisturbed(template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What everybody sees at the end of the story when nothing is killed."""
    out = tmp_path_factory.mktemp("undisturbed")
    worlds: list[World] = []
    seen = asyncio.run(played(STORY, Options(out, template=template), worlds.append))
    assert len(effects(worlds[0])) <= MOST_EFFECTS, effects(worlds[0])
    return seen


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", [Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.LOSE_ANSWER])
def test_story_ends_same_after_fault_at_each_effect(
    fault: Fault, options: Options, undisturbed: list[str]
) -> None:
    def telling(number: int) -> Callable[[], Awaitable[list[str]]]:
        def prepare(world: World) -> None:
            world.ledger.by_number[number] = fault

        out = options.out / f"{number}"
        return partial(played, STORY, replace(options, out=out), prepare, unreliable=True)

    works = [(f"{fault} at {number}", telling(number)) for number in range(1, MOST_EFFECTS + 1)]
    ends = asyncio.run(side_by_side(works, AT_A_TIME))
    other = {name: end for name, end in ends.items() if end != undisturbed}
    assert not other, told(other)
