"""Carol creates a team from Slack, Erin approves; its member trains, and the team is removed."""

from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.people import BOT_USER, Channel
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

APPROVALS, VISION = "#gpu-approvals", "#vision"
_KINDS = ("namespaces", "rolebindings", "clusterqueues", "localqueues")
_CREATE = "vision --gpus 4 --cohort gpus --channel #C0VISION --members @U0BOB"


def arrange(_cluster: Cluster, workspace: Workspace) -> None:
    """The channel of the new team, and its approver where requests are decided."""
    workspace.channels["C0VISION"] = Channel("C0VISION", "vision", ["U0BOB", "U0CAROL", BOT_USER])
    workspace.channels["C0APPROVE"].members.append("U0ERIN")


_DECIDERS = {"approvers": {"people": ["U0CAROL", "U0ERIN"]}}
SETUP = Setup(
    settings={
        "team_creation": {},
        "approvals": {"team_change": _DECIDERS, "quota_base": _DECIDERS},
    },
    arrange=arrange,
)


async def play(story: Story) -> None:
    """Tried, approved, used, given more quota, and removed once nothing uses it."""
    story.allowed_writes |= {f"{verb} {kind}" for verb in ("create", "delete") for kind in _KINDS}
    story.allowed_writes |= {"patch clusterqueues"}
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    bob, carol, erin = (story.person(name) for name in ("Bob", "Carol", "Erin"))
    await _is_created(story, carol, erin)
    await is_used(story, bob, carol)
    await gets_more(story, carol, erin)
    await is_removed(story, carol, erin)


async def _is_created(story: Story, carol: Person, erin: Person) -> None:
    await carol.types(APPROVALS, f"/team create {_CREATE}")
    await carol.is_told("Checking team vision by a dry run.")
    card = await story.card(APPROVALS, "Create team vision")
    await card.shows("Waiting for approval", "ClusterQueue vision", "accepted by a dry run")
    await is_approved(card, erin)
    await card.shows("Create team vision · Done", "LocalQueue vision/vision", "created")
    await carol.is_mentioned(APPROVALS, "Team vision is created.", thread=card)


async def is_approved(card: Card, erin: Person) -> None:
    """Erin approves what a card asks for."""
    await erin.clicks(card, "Approve")
    await erin.is_told("You approved this request.")


async def is_used(story: Story, bob: Person, carol: Person, shows: str = "Set in") -> None:
    """Bob trains, so that the team cannot be removed; what `/team show` says of it."""
    run = await submits(
        story, bob, VISION, "lane",
        "--image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3",
    )  # fmt: skip
    await is_admitted(story, run)
    await carol.types(APPROVALS, "/team remove vision")
    await carol.is_told("Team vision is still in use. It has 1 run. Nothing was changed.")
    await ends_well(bob, VISION, run, "lane")
    await bob.types(VISION, "/team show")
    await bob.is_told("Asking the cluster of vision…")
    await bob.is_told("Team vision · Ready", shows, "Slack")


async def gets_more(story: Story, carol: Person, erin: Person) -> None:
    """Its base quota becomes 6 GPUs."""
    await carol.types(APPROVALS, "/team set vision --gpus 6")
    await carol.is_told("Requested for vision: nominal quota 4 → 6 GPUs of h100, permanently.")
    card = await story.card(APPROVALS, "Base quota of vision: 6 GPUs of h100")
    await is_approved(card, erin)
    await card.shows("Ended")
    await story.reply(card, "approved by @Erin: nominal quota 4 → 6 GPUs of h100")
    await story.reply(card, "done: nominal quota 4 → 6 GPUs of h100, permanently.")


async def is_removed(story: Story, carol: Person, erin: Person, objects: int = 4) -> None:
    """Carol asks for it, Erin approves; so many objects go."""
    # Who asks is answered by a button, also where the bot may be killed.
    was, story.unreliable = story.unreliable, False
    await carol.types(APPROVALS, "/team remove vision")
    asked = await carol.is_told(
        f"Remove team vision and its {objects} objects?", "cannot be undone"
    )
    story.unreliable = was
    if asked is not None:
        await carol.clicks(asked, "Request it")
    await carol.is_told("Requested. Its card in this channel shows the progress of vision.")
    card = await story.card(APPROVALS, "Remove team vision")
    await card.shows("Waiting for approval", "will be deleted")
    await is_approved(card, erin)
    await card.shows("Remove team vision · Done", "deleted")
    await carol.is_mentioned(APPROVALS, "Team vision is removed.", thread=card)
