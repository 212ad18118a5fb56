"""A team has two clusters and one goes down: the other keeps working, and the team sees it."""

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(
    clusters={"default": "kueue", "lab": "kai"},
    settings={"teams": {"team-a": {"clusters": ["default", "lab"]}}},
)
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 2"


async def play(story: Story) -> None:
    """What the cluster that is down was doing goes on there, and is known when it is back."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=20)
    there = await submits(story, alice, "#team-a", "there", f"{_LANE} --cluster lab -- python a.py")
    await is_admitted(story, there)
    await there.shows("Running for", "lab: team-a/there-")
    await _both_are_shown(alice)
    story.cluster_goes_down("lab")
    here = await submits(story, alice, "#team-a", "here", f"{_LANE} -- python b.py")
    await is_admitted(story, here)
    await _it_is_said(alice)
    await ends_well(alice, "#team-a", here, "here")
    await story.cluster_comes_back("lab")
    await ends_well(alice, "#team-a", there, "there")
    await alice.types("#team-a", f"/train submit lost {_LANE} --cluster moon -- python c.py")
    await alice.is_told("team-a has no cluster moon.", "It has: default, lab.")


async def _both_are_shown(alice: Person) -> None:
    await alice.types("#team-a", "/quota status")
    await alice.is_told(
        "GPU quota of team-a",
        "team-a (default) | h100 | 4 | 0 | 0 | 8 | 0",
        "team-a (lab) | default | 4 | 2 | 0 | 12 | 0",
    )


async def _it_is_said(alice: Person) -> None:
    await alice.types("#team-a", "/quota status")
    await alice.is_told("team-a (default) | h100 | 4 | 2", "Cluster lab does not answer")
    await alice.types("#team-a", "/train list")
    await alice.is_told("here", "there", "Cluster lab does not respond")
