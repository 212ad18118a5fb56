"""What a cluster does for a bot: it starts it again, however it ended."""

import asyncio
from collections import Counter

from playground.bot_process import BotError
from playground.world import World

_LOOK_SECONDS = 0.1
_BACK_OFF_SECONDS = 1.0


class Restarts:
    """Keeps the bot of a world running, and counts how it ended."""

    def __init__(self, world: World) -> None:
        self.count = 0
        self.ended: Counter[str] = Counter()
        self._world = world

    async def keep(self) -> None:
        """Starts it whenever it does not run; until it is cancelled."""
        bot, changes = self._world.bot, self._world.changes
        while True:
            if bot.is_running:
                await changes.wait(_LOOK_SECONDS)
                continue
            self.ended[bot.state] += 1
            self.count += 1
            try:
                await bot.start()
            except BotError:
                await bot.kill()  # it runs, and is not ready
                await changes.pass_by(_BACK_OFF_SECONDS)
            changes.ring()

    async def is_there(self, seconds: float) -> None:
        """Returns when the bot is ready and connected to Slack."""
        async with asyncio.timeout(seconds):
            while not (self._world.bot.is_ready and self._world.slack.sockets.open):
                await self._world.changes.wait(_LOOK_SECONDS)
