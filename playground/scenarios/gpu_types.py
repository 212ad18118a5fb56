"""A team has GPUs of two types: a run gets the type requested, or its owner sees what there is."""

from playground.cluster.cluster import Cluster
from playground.cluster.two_types import add_second_type
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    del workspace
    add_second_type(cluster, {"team-a": "2"})


SETUP = Setup(arrange=_arrange)
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 2"


async def play(story: Story) -> None:
    """Kueue would give the first type that fits; the second is there for who says so."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    usual = await submits(story, alice, "#team-a", "usual", f"{_LANE} -- python a.py")
    await is_admitted(story, usual)
    older = await submits(
        story, alice, "#team-a", "older", f"{_LANE} --gpu-type a100 -- python b.py"
    )
    await is_admitted(story, older)
    await older.shows("Running for", "2 of a100")
    await _it_is_shown(alice)
    await _what_is_not_there_is_refused(alice)
    next_one = await submits(
        story, alice, "#team-a", "next", f"{_LANE} --gpu-type a100 -- python c.py"
    )
    await next_one.shows("It is waiting for 2 GPUs of a100; 0 can be used now")
    await ends_well(alice, "#team-a", older, "older")
    await is_admitted(story, next_one)
    await ends_well(alice, "#team-a", usual, "usual")
    await ends_well(alice, "#team-a", next_one, "next")
    await alice.types("#team-a", "/train compare usual older")
    await alice.is_told("usual | Succeeded | 2 h100", "older | Succeeded | 2 a100")


async def _it_is_shown(alice: Person) -> None:
    await alice.types("#team-a", "/train list")
    await alice.is_told("older", "2 a100")
    await alice.types("#team-a", "/train export older")
    await alice.is_told('"gpu_type": "a100"', '"flavor": "a100"', '"gpu-a100"')


async def _what_is_not_there_is_refused(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit lost {_LANE} --gpu-type b200 -- python c.py")
    await alice.is_told(
        "ClusterQueue team-a has no GPU type b200.",
        "It has: h100 (10 GPUs free), a100 (no GPU free).",
    )
