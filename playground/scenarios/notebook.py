"""Alice opens a notebook that only she can enter and extends it; it ends on time."""

from datetime import timedelta

from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

_INGRESS = {"host": "ml.example.com", "class_name": "nginx"}
SETUP = Setup(settings={"clusters": {"default": {"ingress": _INGRESS}}})
IMAGE = "quay.io/jupyter/base-notebook"
BESIDE = ("secrets", "services", "ingresses")


async def play(story: Story) -> None:
    """From a slash command to an address, and from two extensions to an end."""
    alice = story.person("Alice")
    story.trains(IMAGE, never_ends=True)
    story.allowed_writes |= {f"create {each}" for each in BESIDE}
    command = f"--kind interactive --image {IMAGE}:2026-11-17 --gpus 1 --time 2h"
    card = await submits(story, alice, "#team-a", "nb", command)
    await is_admitted(story, card)
    await card.shows("Running for", "Ends", "2h, at most 1d")
    await _it_opens_to_her_alone(story, alice, card)
    await _it_is_made_to_last_longer(story, alice, card)
    await story.pass_time(timedelta(minutes=6))
    await card.shows(story.about("Expired after 3h 30m"), "Its data outside PVCs is lost.")
    await card.offers("Logs", "Resubmit")
    await alice.is_mentioned("#team-a", story.about("nb expired after 3h 30m"), thread=card)
    for each in ("jobs", "pods", *BESIDE):
        await story.cluster_has(each, "team-a", "nb", count=0)


async def _it_opens_to_her_alone(story: Story, alice: Person, card: Card) -> None:
    bob, erin = story.person("Bob"), story.person("Erin")
    for each in BESIDE:
        await story.cluster_has(each, "team-a", "nb", count=1)
    await card.offers("Open", "Logs", "Stop")
    await alice.clicks(card, "Open")
    way_in = await alice.is_told("https://ml.example.com/team-a/nb-", "kubectl exec -it -n team-a")
    await bob.types("#team-b", "/train open nb --team team-a")
    await bob.is_told("You are not a member of team-a.")
    await erin.types("#team-a", "/train open nb")
    await erin.is_told("nb is a session of @Alice.", "shown only to its owner")
    await story.pass_time(timedelta(minutes=1))
    await alice.types("#team-a", "/train logs nb")
    await alice.is_told("Jupyter Server", "is running at")
    token = way_in.text.partition("?token=")[2].split()[0].rstrip(">") if way_in else ""
    if token:
        story.was_shown_to(alice, token)


async def _it_is_made_to_last_longer(story: Story, alice: Person, card: Card) -> None:
    await story.pass_time(timedelta(hours=1, minutes=30))
    reminder = await alice.is_mentioned("#team-a", story.about("nb ends in 30m,"), thread=card)
    await reminder.offers("Extend 1h", "Extend 4h")
    await alice.clicks(reminder, "Extend 1h")
    await alice.is_told("nb runs until", "It can run until")
    await alice.types("#team-a", "/train extend nb 30m")
    await alice.is_told("nb runs until")
    await story.pass_time(timedelta(hours=1, minutes=30))
    await alice.is_mentioned("#team-a", story.about("nb ends in 30m,"), thread=card)
    await story.pass_time(timedelta(minutes=25))
    await alice.is_mentioned("#team-a", story.about("nb ends in 5m,"), thread=card)
