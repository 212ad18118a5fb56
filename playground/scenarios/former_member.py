"""Alice leaves the team and keeps clicking: her session stays with the team, under a lead."""

from datetime import timedelta

from playground.cluster.cluster import Cluster
from playground.settings import Setup
from playground.slack.people import UserGroup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

GROUP, IMAGE = "S0LANE", "quay.io/jupyter/base-notebook"
REFUSED = "You are not a member of team-a."


def _arrange(_cluster: Cluster, slack: Workspace) -> None:
    slack.groups[GROUP] = UserGroup(GROUP, "lane-team", "Lane detection", ["U0ALICE"])


SETUP = Setup(
    settings={"teams": {"team-a": {"members": {"people": [], "groups": [GROUP]}}}},
    arrange=_arrange,
)


async def play(story: Story) -> None:
    """She stays in the channel, where every button of hers is still shown to her."""
    alice, erin = story.person("Alice"), story.person("Erin")
    story.trains(IMAGE, never_ends=True)
    story.allowed_writes |= {"create secrets", "create services"}
    command = f"--kind interactive --image {IMAGE}:2026-11-17 --gpus 1 --time 2h"
    await alice.types("#team-a", "/train list")
    await alice.is_told("Checking who you are.")
    await story.rest()
    card = await submits(story, alice, "#team-a", "nb", command)
    await is_admitted(story, card)
    await alice.types("#team-a", f"/train submit nb {command}")
    question = await alice.is_told("The same command was sent here", "Do you want to do it again?")
    await story.pass_time(timedelta(hours=1, minutes=31))
    reminder = await alice.is_mentioned("#team-a", story.about("nb ends in 30m,"), thread=card)
    story.world.slack.groups[GROUP].users.remove("U0ALICE")
    await story.pass_time(timedelta(minutes=12))
    await _she_acts_no_more(alice, card, reminder, question)
    await _a_lead_does(story, erin, card, reminder)
    await alice.is_mentioned("#team-a", "nb was stopped by erin", thread=card)


async def _she_acts_no_more(
    alice: Person, card: Card, reminder: Card, question: Card | None
) -> None:
    await alice.clicks(reminder, "Extend 1h")
    await alice.is_told(REFUSED, "Ask a platform admin to add you to the team")
    for words in ("extend nb 1h", "open nb", "stop nb", "show nb --team team-a"):
        await alice.types("#team-a", f"/train {words}")
        await alice.is_told(REFUSED)
    for label in ("Open", "Logs"):
        await alice.clicks(card, label)
        await alice.is_told(REFUSED)
    await alice.clicks(card, "Stop", confirming="Stop nb?")
    await alice.is_told(REFUSED)
    if question is not None:
        await alice.clicks(question, "Yes, do it again")
        await alice.is_told(REFUSED)
    await card.shows("Running for")


async def _a_lead_does(story: Story, erin: Person, card: Card, reminder: Card) -> None:
    await erin.clicks(reminder, "Extend 1h")
    await erin.is_told("nb runs until", "It can run until")
    await erin.clicks(card, "Stop", confirming="Stop nb?")
    await erin.is_told("Stopping nb", "/train resubmit nb starts it again.")
    await card.shows("Stopped after")
    await story.cluster_has("jobs", "team-a", "nb", count=0)
