"""Plays one scenario in one world, from start to end."""

from playground.pace import ImpatientError
from playground.scenarios import Scenario
from playground.slack.errors import PersonError
from playground.story import Story
from playground.world import World


async def tell(world: World, scenario: Scenario, *, unreliable: bool = False) -> Story:
    """Plays a scenario to its end; StoryError says what went another way."""
    story = Story(world, unreliable=unreliable)
    try:
        await scenario.play(story)
        await story.ends()
    except (ImpatientError, PersonError) as error:
        await world.look()
        story.fail(str(error))
    return story
