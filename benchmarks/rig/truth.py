"""How long Slack shows a card that says what no longer holds."""

import asyncio
import contextlib
from collections.abc import Sequence

from benchmarks.rig.company import LiveRun
from benchmarks.rig.live_runs import show
from playground.world import World

PATIENCE_SECONDS = 240.0
_LOOK_SECONDS = 0.1
_RUNNING = "Running"


async def lateness(world: World, runs: Sequence[LiveRun], a_minute: float) -> list[float]:
    """The seconds from each change until its card says so; each run stops running once."""
    loop = asyncio.get_running_loop()
    untrue: dict[int, float] = {}
    late, begun, changed = list[float](), loop.time(), 0
    while len(late) < len(runs) and (changed < len(runs) or _longest(untrue) < PATIENCE_SECONDS):
        if changed < len(runs) and loop.time() >= begun + changed * 60 / a_minute:
            show(world, runs[changed].pod, runs=False)
            untrue[changed] = loop.time()
            changed += 1
        for number in [each for each in untrue if _is_true(world, runs[each])]:
            late.append(loop.time() - untrue.pop(number))
        await pause(_LOOK_SECONDS)
    return [*late, *[PATIENCE_SECONDS] * len(untrue)]


async def pause(seconds: float) -> None:
    """Lets that much real time pass."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


def _longest(untrue: dict[int, float]) -> float:
    return max((asyncio.get_running_loop().time() - since for since in untrue.values()), default=0)


def _is_true(world: World, run: LiveRun) -> bool:
    return _RUNNING not in world.slack.text_of(run.card)
