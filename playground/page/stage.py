"""The world that the page shows, begun in the background; a story gets one of its own."""

import asyncio
import contextlib
from dataclasses import replace

from playground.bot_process import BotError
from playground.changes import Changes
from playground.opening import opened
from playground.pace import ImpatientError
from playground.page.stories import Reading, ReadStory, offered
from playground.slack.errors import PersonError
from playground.slack.shapes import Json
from playground.story.context import StoryError
from playground.story.scenario import Scenario
from playground.world import Options, World


class Stage:
    """Holds the world that is played; None while one is set up or taken away."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.world: World | None = None
        self.turn = 0  # how many worlds there were
        self.trouble = ""
        self.is_starting = True
        self.reading: Reading | None = None
        self._story: Json | None = None
        self._offered = offered()
        self._changes = Changes()
        self._playing: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None

    def begin(self, scenario: Scenario | None = None) -> None:
        """Sets up a world in place of the one that is there, and plays a story in it."""
        played = self._play(self._playing, scenario)
        self._playing = asyncio.get_running_loop().create_task(played)
        self._playing.add_done_callback(self._ended)

    def stop_story(self) -> None:
        """Ends the story; its world stays."""
        if self._telling is not None:
            self._telling.cancel()

    async def close(self) -> None:
        """Takes the world away."""
        await _cancelled(self._playing)

    async def wait(self, seconds: float) -> None:
        """Returns at the next change of the world, or of which world it is."""
        await (self.world.changes if self.world is not None else self._changes).wait(seconds)

    def ring(self) -> None:
        """Tells who waits that something changed."""
        self._changes.ring()
        if self.world is not None:
            self.world.changes.ring()

    def stories(self) -> Json:
        """The stories there are, and how far the one is that is played."""
        if self._story is None or self.reading is None:
            return {"offered": self._offered, "playing": None}
        reading = self.reading
        told = {"is_paused": reading.is_paused, "step": reading.step, "number": reading.steps}
        return {"offered": self._offered, "playing": {**self._story, **told}}

    async def _play(self, before: asyncio.Task[None] | None, scenario: Scenario | None) -> None:
        await _cancelled(before)
        self.trouble, self.is_starting = "", True
        self._tells(scenario, "begins")
        setup = scenario.setup if scenario is not None else self.options.setup
        async with opened(replace(self.options, setup=setup)) as world:
            self.world, self.turn = world, self.turn + 1
            self.ring()
            try:
                await self._start(world)
                await self._tell(world, scenario)
                await asyncio.Event().wait()
            finally:
                self.ring()
                self.world = None

    async def _start(self, world: World) -> None:
        try:
            await world.start_bots()
        except (BotError, ImpatientError) as error:
            self._fails(error)
        self.is_starting = False
        self.ring()

    async def _tell(self, world: World, scenario: Scenario | None) -> None:
        """Plays a story as far as it goes."""
        if scenario is None or self.reading is None or self.trouble:
            return
        story = ReadStory(world, self.reading)
        self._tells(scenario, "plays")
        self._telling = asyncio.ensure_future(scenario.play(story))
        try:
            await asyncio.wait({self._telling})
        finally:
            stopped = not self._telling.done()
            await _cancelled(self._telling)
        if stopped or self._telling.cancelled():
            self._tells(None, "")
        elif (error := self._telling.exception()) is None:
            self._tells(scenario, "ended")
        elif isinstance(error, (StoryError, ImpatientError, PersonError)):
            self._tells(scenario, "failed", f"{error}".partition("\n")[0])
        else:
            raise error

    def _tells(self, scenario: Scenario | None, state: str, said: str = "") -> None:
        if scenario is None:
            self._story = self.reading = None
        else:
            self._story = {"name": scenario.name, "state": state, "said": said}
            self.reading = self.reading or Reading(self.ring)
        self.ring()

    def _ended(self, playing: asyncio.Task[None]) -> None:
        if not playing.cancelled() and (error := playing.exception()) is not None:
            self._fails(error)

    def _fails(self, error: BaseException) -> None:
        self.trouble, self.is_starting = f"{error}", False
        self.ring()


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
