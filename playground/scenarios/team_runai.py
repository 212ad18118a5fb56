"""A team on Run:ai: its project is created by the REST API, used, given more, and deleted."""

from dataclasses import replace

from playground.runai.service import POOL
from playground.scenarios.team import APPROVALS, gets_more, is_approved, is_removed, is_used
from playground.scenarios.team import SETUP as TEAM
from playground.story.person import Person
from playground.story.story import Story

_CREATE = "vision --gpus 4 --channel #C0VISION --members @U0BOB"
SETUP = replace(TEAM, clusters={"default": "runai"})


async def play(story: Story) -> None:
    """The lists of Run:ai instead of a dry run, and the project instead of queues."""
    kinds = ("namespaces", "rolebindings")
    story.allowed_writes |= {f"{verb} {kind}" for verb in ("create", "delete") for kind in kinds}
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    bob, carol, erin = (story.person(name) for name in ("Bob", "Carol", "Erin"))
    await _is_created(story, carol, erin)
    await is_used(story, bob, carol, shows="default, Run:ai")
    await gets_more(story, carol, erin)
    _quota_is(story, 6)
    await is_removed(story, carol, erin, objects=3)
    if "vision" in story.runai.projects:
        story.fail("Run:ai still has project vision")


async def _is_created(story: Story, carol: Person, erin: Person) -> None:
    await carol.types(APPROVALS, f"/team create {_CREATE} --cohort physics")
    await carol.is_told("Checking team vision by a dry run.")
    card = await story.card(APPROVALS, "Create team vision")
    await card.shows("Failed", "There is no department physics", "There is: default.")
    await carol.is_mentioned(APPROVALS, "Team vision was not created.", thread=card)
    await carol.types(APPROVALS, f"/team create {_CREATE}")
    await carol.is_told("Checking team vision by a dry run.")
    card = await story.card(APPROVALS, "Create team vision")
    await card.shows("Waiting for approval", "Run:ai has no dry run", "16 of its 64 GPUs of h100")
    await is_approved(card, erin)
    await card.shows("Create team vision · Done", "Project vision", "created")
    await carol.is_mentioned(APPROVALS, "Team vision is created.", thread=card)
    _quota_is(story, 4)


def _quota_is(story: Story, gpus: float) -> None:
    found = story.runai.quota("vision", POOL)
    if found != gpus:
        story.fail(f"Run:ai's project vision has {found:g} GPUs, not {gpus:g}")
