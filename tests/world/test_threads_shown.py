"""A bot that hangs is asked what its threads do."""

import asyncio

import pytest

from playground.opening import opened
from playground.world import Options


@pytest.mark.slow
def test_a_signal_writes_what_threads_do(options: Options) -> None:
    async def play() -> None:
        async with opened(options) as world:
            await world.start_bots()
            stacks = await world.bot.stacks()
            assert "serving.py" in stacks
            assert stacks.count("Thread 0x") > 10
            pulse = await world.bot.pulse()
            assert pulse is not None
            assert pulse.quiet, "it goes on"

    asyncio.run(play())
