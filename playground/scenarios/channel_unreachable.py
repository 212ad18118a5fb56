"""The bot is not in #gpu-approvals; the request still reaches Carol."""

from playground.story.steps import approves
from playground.story.story import Story


async def play(story: Story) -> None:
    """It says which /invite helps, and asks in a direct message until then."""
    alice, carol = story.person("Alice"), story.person("Carol")
    story.world.slack.remove_bot("C0APPROVE")
    story.expects_refusal("chat.postMessage", "not_in_channel")
    await alice.types("#team-a", '/quota request +2 --for 8h --reason "ablations"')
    await alice.is_told("Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 8h")
    own = await story.card("#team-a", "Quota override for team-a: +2 h100")
    request = await carol.is_written_to("Quota override for team-a: +2 h100")
    await approves(story, carol, request, own)
