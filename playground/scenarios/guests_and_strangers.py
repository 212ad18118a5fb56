"""A guest and somebody of another workspace ask for things, and nothing happens."""

from playground.slack.people import User
from playground.story import Story


async def play(story: Story) -> None:
    """Who is not known yet is asked to wait; who is a guest is refused, and told whom to ask."""
    slack = story.world.slack
    slack.users["U0MALLORY"] = User(
        "U0MALLORY", "mallory", "Mallory Reyes", is_stranger=True, team_id="T0OTHER"
    )
    slack.channels["C0TEAMA"].members.append("U0MALLORY")
    for name in ("Dan", "Mallory"):
        person = story.person(name)
        await person.types("#team-a", "/train submit lane --image ghcr.io/acme/lane:3.1")
        await person.is_told("Checking who you are.")
        await story.rest()
        await person.types("#team-a", "/train submit lane --image ghcr.io/acme/lane:3.1")
        await person.is_told("Guests and people of other workspaces cannot use Quartermaster.")
        await person.types("#team-a", "/quota status")
        await person.is_told("Ask a full member of the team to do this for you.")
