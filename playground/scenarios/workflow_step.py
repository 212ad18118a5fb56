"""A workflow asks for quota in Alice's name: she alone requests it, and it learns the end."""

from playground.settings import Setup
from playground.slack.steps import StepExecution
from playground.story.steps import approves
from playground.story.story import Story

SETUP = Setup(manifest=("--workflow-step",))
ASKED = {
    "person": "U0ALICE",
    "channel": "C0TEAMA",
    "gpus": "2",
    "length": "3d",
    "reason": "CVPR deadline",
}


async def play(story: Story) -> None:
    """One step is approved, one declined, and one names a channel of no team."""
    alice, carol = story.person("Alice"), story.person("Carol")

    asked = await runs(story, **ASKED)
    offer = await alice.is_written_to(
        "A workflow asks you to request 2 more GPUs for team-a, for 3d.", "Reason: CVPR deadline"
    )
    await alice.clicks(offer, "Request")
    await alice.is_told("Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 3d")
    own = await story.card("#team-a", "Quota override for team-a: +2 h100")
    request = await story.card("#gpu-approvals", "Quota override for team-a: +2 h100")
    await approves(story, carol, request, own)
    await ends(story, asked)
    expected = {"decision": "approved", "decided_by": "<@U0CAROL>", "length": "3d"}
    if asked.outputs | expected != asked.outputs:
        story.fail(f"the step ended with {asked.outputs}")

    declined = await runs(story, **ASKED | {"gpus": "1"})
    offer = await alice.is_written_to("A workflow asks you to request 1 more GPU for team-a")
    await alice.clicks(offer, "Decline")
    await alice.is_told("Declined. Nothing was requested, and the workflow ends there.")
    await fails(story, declined, "<@U0ALICE> declined. Nothing was requested.")

    lost = await runs(story, **ASKED | {"channel": "C0DAILY"})
    await fails(
        story,
        lost,
        "The channel of this step belongs to no team. Choose a channel in which `/quota request`"
        " works.",
    )


async def runs(story: Story, **inputs: str) -> StepExecution:
    """A workflow comes to the step."""
    await story.bot_is_there()
    return await story.world.slack.run_step("request_gpu_quota", inputs)


async def ends(story: Story, step: StepExecution) -> None:
    """Waits until Slack knows how the step ended."""
    await story.until(lambda: not step.is_running, lambda: "the step does not end")


async def fails(story: Story, step: StepExecution, error: str) -> None:
    """Waits until the step failed with this error."""
    await ends(story, step)
    if step.error != error:
        story.fail(f"the step failed with {step.error!r}")
