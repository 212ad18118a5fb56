"""The same on KAI Scheduler: quota, waiting, an override, reclaimed GPUs, a fraction of a GPU."""

from datetime import timedelta

from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import (
    approves,
    asks_for_gpus,
    ends_well,
    is_admitted,
    submits,
)
from playground.story.story import Story

SETUP = Setup(clusters={"default": "kai"})
_LANE = "--image ghcr.io/acme/lane:3.1"
_BASE = "--image ghcr.io/acme/base:2.0"


async def play(story: Story) -> None:
    """People use the same words as on Kueue, and are told what KAI does otherwise."""
    alice, bob = story.person("Alice"), story.person("Bob")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    story.trains("ghcr.io/acme/base", seconds_per_epoch=20)
    await _a_part_of_a_gpu(story, alice)
    first, second = await _alice_uses_all(story, alice)
    base = await _bob_gets_his_own_back(story, bob, second)
    await _alice_is_told_why(alice)
    request, own = await _more_quota_for_a_while(story, alice)
    await ends_well(bob, "#team-b", base, "base")
    await ends_well(alice, "#team-a", first, "first")
    await is_admitted(story, second)
    await ends_well(alice, "#team-a", second, "second")
    await story.pass_time(timedelta(days=1))
    await request.shows("Ended")
    await own.shows("Ended")
    await story.reply(
        own, "The override has ended: the nominal quota of team-a is 4 GPUs of default."
    )
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "default | 4 | 0 | 0 | 12 | 0")


async def _a_part_of_a_gpu(story: Story, alice: Person) -> None:
    half = await submits(story, alice, "#team-a", "half", f"{_LANE} --gpus 0.5 -- python eval.py")
    await is_admitted(story, half)
    await half.shows("Running for")
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "default | 4 | 500m | 0 | 12 | 0")
    await ends_well(alice, "#team-a", half, "half")


async def _alice_uses_all(story: Story, alice: Person) -> tuple[Card, Card]:
    first = await submits(story, alice, "#team-a", "first", f"{_LANE} --gpus 8 -- python a.py")
    await is_admitted(story, first)
    await first.shows("Running for")
    second = await submits(story, alice, "#team-a", "second", f"{_LANE} --gpus 8 -- python b.py")
    await is_admitted(story, second)
    await second.shows("Running for")
    return first, second


async def _bob_gets_his_own_back(story: Story, bob: Person, second: Card) -> Card:
    base = await submits(story, bob, "#team-b", "base", f"{_BASE} --gpus 8 -- python serve.py")
    await story.reply(
        second,
        "was preempted. KAI reclaimed its GPUs for other work by deleting its pods.",
        "Its output is kept: /train logs second",
    )
    await is_admitted(story, base)
    return base


async def _alice_is_told_why(alice: Person) -> None:
    await alice.types("#team-a", "/train why second")
    await alice.is_told(
        "Preempted, waiting again", "It is waiting for 8 GPUs of default", "nominal quota of 4"
    )
    await alice.types("#team-a", "/train list")
    await alice.is_told("first", "second")
    await alice.types("#team-a", f"/train submit shell {_LANE} --priority urgent")
    await alice.is_told("The cluster has no priority class urgent.", "build, build-preemptible")


async def _more_quota_for_a_while(story: Story, alice: Person) -> tuple[Card, Card]:
    own, request = await asks_for_gpus(
        story,
        alice,
        '+4 --for 1d --reason "CVPR deadline"',
        title="Quota override for team-a: +4 default",
        receipt="Requested for team-a: nominal quota 4 → 8 GPUs of default, for 1d",
    )
    await request.shows("Waiting for approval", "then KAI deletes their pods")
    await approves(story, story.person("Carol"), request, own)
    return request, own
