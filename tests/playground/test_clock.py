"""The playground's time, and bots whose own clocks are wrong."""

import asyncio
from datetime import timedelta

from playground.clock import VirtualClock

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def test_clock_steps_back_for_bots_alone() -> None:
    async def steps() -> None:
        clock = VirtualClock()
        await clock.move_to(clock.now() + HOUR)
        before, offset = clock.now(), clock.offset
        told = asyncio.ensure_future(clock.offset_after(clock.bot_offset, 60))
        await clock.step(-MINUTE)
        assert await told == clock.bot_offset == offset - MINUTE
        assert (clock.offset, clock.now() >= before) == (offset, True)
        await clock.step(timedelta(0))
        assert await clock.offset_after(offset - MINUTE, 60) == offset

    asyncio.run(steps())
