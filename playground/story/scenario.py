"""A scenario, and how it is run in a world from start to end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playground.pace import ImpatientError
from playground.settings import Setup
from playground.slack.errors import PersonError
from playground.story.story import Story
from playground.world import World


@dataclass(frozen=True)
class Scenario:
    """One story: its name, what it is about in a line, its world, and how it goes."""

    name: str
    summary: str
    setup: Setup
    play: Callable[[Story], Awaitable[None]]


async def run_scenario(world: World, scenario: Scenario, *, unreliable: bool = False) -> Story:
    """Plays a scenario to its end; StoryError says what went another way."""
    story = Story(world, unreliable=unreliable)
    try:
        await scenario.play(story)
        await story.ends()
    except (ImpatientError, PersonError) as error:
        await world.look()
        story.fail(str(error))
    return story
