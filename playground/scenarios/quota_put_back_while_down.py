"""The bot is down when an override ends; the quota is restored as soon as the bot is back."""

from datetime import timedelta

from playground.story.steps import approves, asks_for_gpus, is_put_back
from playground.story.story import Story


async def play(story: Story) -> None:
    """No quota stays raised after its time."""
    alice = story.person("Alice")
    own, request = await asks_for_gpus(
        story,
        alice,
        '+2 --for 8h --reason "ablations"',
        title="Quota override for team-a: +2 h100",
        receipt="Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 8h",
    )
    await approves(story, story.person("Carol"), request, own)
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "h100 | 6 | 0 | 0 | 8 | 0")
    await story.rest()
    await story.bot_is_killed()
    await story.time_leaps(timedelta(hours=9))
    await story.bot_returns()
    await is_put_back(story, request, own)
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "h100 | 4 | 0 | 0 | 8 | 0")
