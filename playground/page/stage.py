"""The world that the page shows, and its bot: begun in the background, and told when it fails."""

import asyncio

from playground.bot_process import BotError
from playground.changes import Changes
from playground.opening import opened
from playground.pace import ImpatientError
from playground.slack.installed import ManifestError
from playground.world import Options, World, WorldError


class Stage:
    """Holds the world that is played; None while one is set up or taken away."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.world: World | None = None
        self.turn = 0  # how many worlds there were
        self.trouble = ""
        self.is_starting = True
        self._changes = Changes()
        self._playing: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Sets up a world, in the background."""
        self._playing = asyncio.get_running_loop().create_task(self._play())

    async def close(self) -> None:
        """Takes the world away."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    async def wait(self, seconds: float) -> None:
        """Returns at the next change of the world, or of which world it is."""
        await (self.world.changes if self.world is not None else self._changes).wait(seconds)

    def ring(self) -> None:
        """Tells who waits that something changed."""
        self._changes.ring()
        if self.world is not None:
            self.world.changes.ring()

    async def _play(self) -> None:
        try:
            async with opened(self.options) as world:
                self.world, self.turn = world, self.turn + 1
                self.ring()
                try:
                    await self._start(world)
                    await asyncio.Event().wait()
                finally:
                    self.ring()
                    self.world = None
        except (BotError, ManifestError, WorldError, OSError) as error:
            self._fails(error)

    async def _start(self, world: World) -> None:
        self.is_starting = True
        try:
            await world.start_bots()
        except (BotError, ImpatientError) as error:
            self._fails(error)
        self.is_starting = False
        self.ring()

    def _fails(self, error: Exception) -> None:
        self.trouble, self.is_starting = f"{error}", False
        self.ring()
