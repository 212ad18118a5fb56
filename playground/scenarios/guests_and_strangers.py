"""A guest and a person of another company send commands, and nothing happens."""

from playground.slack.people import PARTNER, User
from playground.story.story import Story


async def play(story: Story) -> None:
    """Who is not known yet is asked to wait; who is a guest is refused, and told whom to ask."""
    slack, dan = story.world.slack, story.person("Dan")
    for words in ("Checking who you are.", "Guests and people from other workspaces cannot use"):
        await dan.types("#team-a", "/train submit lane --image ghcr.io/acme/lane:3.1")
        await dan.is_told(words)
        await story.rest()
    await dan.types("#team-a", "/quota status")
    await dan.is_told("Ask a full member of the team to do this for you.")
    slack.users["U0MALLORY"] = User(
        "U0MALLORY", "mallory", "Mallory Reyes", is_stranger=True, team_id=PARTNER
    )
    slack.share("C0TEAMA", "U0MALLORY")
    await story.card("#gpu-approvals", "#team-a is shared with another company")
    mallory = story.person("Mallory")
    for words in ("Checking who you are.", "Guests and people from other workspaces cannot use"):
        await mallory.mentions("#team-a", "train submit lane --image ghcr.io/acme/lane:3.1")
        await mallory.is_told(words)
        await story.rest()
