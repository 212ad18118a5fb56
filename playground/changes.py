"""A condition that is notified of every change outside the bot, for waiting without polling."""

import asyncio


class Changes:
    """Counts changes and wakes who waits for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        self.count += 1
        self._rung.set()
        self._rung = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Waits for the next change; False when there was none in that time."""
        try:
            async with asyncio.timeout(seconds):
                return await self._rung.wait()
        except TimeoutError:
            return False

    async def pass_by(self, seconds: float) -> None:
        """Returns after that time, whatever changes meanwhile."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            await self.wait(left)
