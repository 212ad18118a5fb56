"""The bot is added to two channels, and says whose they are: a team's, and nobody's."""

from playground.story.story import Story


async def play(story: Story) -> None:
    """Alice's first command works in one, and is refused in the other with the way out."""
    alice = story.person("Alice")
    for channel in ("#team-a", "#gpu-daily"):
        place = story.channel(channel)
        story.world.slack.remove_bot(place)
        story.world.slack.invite_bot(place)
    await story.card("#team-a", "This channel belongs to team-a.")
    await story.card("#gpu-daily", "This channel belongs to no team")
    await alice.types("#team-a", "/train list")
    await alice.is_told("Runs of team-a", "There are no runs.")
    await alice.types("#gpu-daily", "/train list")
    await alice.is_told("This channel belongs to no team, so this cannot be used here.")
