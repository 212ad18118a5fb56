"""How long the bot takes from its start until it is ready, and what it holds when idle."""

import asyncio
import contextlib

from benchmarks.rig.bot import caught_up, serving
from benchmarks.rig.figures import Aim, Report, command, median

READY_SECONDS = 2.0
IDLE_MEGABYTES = 120.0
_MEGABYTE = 1e6


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """The bot started and stopped some times in one world."""
    starts, idle_seconds = (2, 2.0) if quick else (7, 10.0)
    resident = []
    async with serving() as world:
        for _ in range(starts):
            await world.bot.stop()
            await world.bot.start()
            await caught_up(world)
            await _idle(idle_seconds)
            resident.append(world.bot.resident_bytes() / _MEGABYTE)
        ready = world.bot.started_in[1:]
    figures = {
        "start to ready": {"median_s": median(ready), "longest_s": max(ready)},
        "idle": {"median_mb": median(resident), "most_mb": max(resident)},
    }
    aims = [
        Aim("seconds from start to ready (median)", median(ready), READY_SECONDS),
        Aim("MB resident when idle (most)", max(resident), IDLE_MEGABYTES),
    ]
    return Report(figures, aims)


async def _idle(seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


main = command("start", "Start to ready, and memory when idle, in the playground.", measure)

if __name__ == "__main__":
    main()
