"""What a story and each of its people use: the world, what was said, waiting, and giving up."""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from playground.pace import ImpatientError
from playground.slack.people import BOT_USER, Message
from playground.slack.transcript import Entry
from playground.spelling import closest
from playground.story.expectations import Expectations, Words
from playground.story.report import report
from playground.world import World

T = TypeVar("T")


class StoryError(AssertionError):
    """The scenario did not go as expected."""


class StoryContext:
    """One world as a story sees it; `unreliable` while the bot may be killed at any moment."""

    def __init__(self, world: World, *, unreliable: bool = False) -> None:
        self.world = world
        self.unreliable = unreliable
        self.expectations = Expectations(world.slack)

    def channel(self, name: str) -> str:
        """The id of #name, or of the direct messages with @name."""
        channels = self.world.slack.channels.values()
        named = {f"{'@' if c.im_with else '#'}{c.name}": c.id for c in channels}
        if name not in named:
            raise StoryError(f"there is no channel {name}{closest(name, named)}")
        return named[name]

    def about(self, words: str) -> Words:
        """These words, with times in them as exact as this world's clock: to the minute."""
        return words

    async def sees(self, fits: Callable[[Entry], bool], otherwise: str) -> Message:
        """Waits for a new message that fits, and ticks it off."""
        entry = await self.until(
            lambda: self.expectations.take(lambda each: each.by == BOT_USER and fits(each)),
            lambda: otherwise,
        )
        return self.expectations.message(entry)

    async def until(self, predicate: Callable[[], T | None], otherwise: Callable[[], str]) -> T:
        """The first truthy value of the predicate; the story fails with `otherwise` without one."""
        try:
            found = await self.world.until(predicate)
        except ImpatientError as error:
            await self.world.look()
            self.fail(f"{otherwise()}\n({error})")
        assert found is not None  # noqa: S101  # what `until` returns is truthy
        return found

    async def rest(self) -> None:
        """Waits until nothing is left to do at this moment."""
        try:
            await self.world.pace.rest()
        except ImpatientError as error:
            self.fail(str(error))

    async def bot_is_there(self) -> None:
        """Waits until Slack can reach the bot, and the bot the cluster."""
        world = self.world
        await self.until(
            lambda: world.slack.sockets.open and any(bot.is_ready for bot in world.bots),
            lambda: "the bot is not connected to Slack",
        )

    def fail(self, why: str) -> NoReturn:
        """Fails the scenario, with a report of the state of the world."""
        raise StoryError(f"{why}\n\n{report(self.world)}")
