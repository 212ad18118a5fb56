"""The same on Run:ai: quota and an override by its REST API, runs in Kubernetes, an own change."""

from datetime import timedelta

from playground.runai.service import POOL
from playground.settings import Setup
from playground.story.person import Card, Person
from playground.story.steps import (
    approves,
    asks_for_gpus,
    ends_well,
    is_admitted,
    is_put_back,
    submits,
)
from playground.story.story import Story

SETUP = Setup(clusters={"default": "runai"})
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py"


async def play(story: Story) -> None:
    """People use the same words as on Kueue; what Run:ai has is read and changed outside."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=120)
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "h100 | 4 | 0 | 0 | 12 | 0")
    await _what_does_not_fit_waits(story, alice)
    request, own = await _more_quota_for_a_while(story, alice)
    await _an_admin_changes_it_meanwhile(story, request, own)
    await story.pass_time(timedelta(days=1))
    await is_put_back(story, request, own)
    _quota_is(story, 4)
    await _wrong_words_are_explained(alice)


async def _what_does_not_fit_waits(story: Story, alice: Person) -> None:
    first, second = [await _running(story, alice, name) for name in ("first", "second")]
    third = await submits(story, alice, "#team-a", "third", _LANE)
    await third.shows("Pending", "Run:ai finds no free capacity for its pods on the nodes.")
    await alice.types("#team-a", "/train why third")
    await alice.is_told("Run:ai finds no free capacity", "It starts when other runs end")
    await ends_well(alice, "#team-a", first, "first")
    await ends_well(alice, "#team-a", second, "second")
    await is_admitted(story, third)
    await alice.types("#team-a", "/train stop third")
    await alice.is_told("third")
    await third.shows("Stopped")
    await alice.is_mentioned("#team-a", "third was stopped by alice", thread=third)


async def _running(story: Story, alice: Person, name: str) -> Card:
    card = await submits(story, alice, "#team-a", name, _LANE)
    await is_admitted(story, card)
    await card.shows("Running for")
    return card


async def _more_quota_for_a_while(story: Story, alice: Person) -> tuple[Card, Card]:
    own, request = await asks_for_gpus(
        story,
        alice,
        '+4 --for 1d --reason "CVPR deadline"',
        title="Quota override for team-a: +4 h100",
        receipt="Requested for team-a: nominal quota 4 → 8 GPUs of h100, for 1d",
    )
    await request.shows("Waiting for approval", "then Run:ai deletes their pods")
    await approves(story, story.person("Carol"), request, own)
    _quota_is(story, 8)
    return request, own


async def _an_admin_changes_it_meanwhile(story: Story, request: Card, own: Card) -> None:
    """Nothing is overwritten until the admin has put it back."""
    story.runai.set_quota("team-a", POOL, 6)
    await story.pass_time(timedelta(hours=7))
    await own.shows("was set to 6 outside Quartermaster; it should be 8")
    await request.shows("was set to 6 outside Quartermaster; it should be 8")
    await story.reply(own, "was set to 6 outside Quartermaster", "Nothing was changed.")
    story.runai.set_quota("team-a", POOL, 8)


def _quota_is(story: Story, gpus: float) -> None:
    if story.runai.quota("team-a", POOL) != gpus:
        story.fail(f"Run:ai's project has {story.runai.quota('team-a', POOL):g} GPUs, not {gpus:g}")


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", f"/train submit shell --priority urgent {_LANE}")
    await alice.is_told("The cluster has no priority class urgent.", "It has: high.")
    await alice.types("#team-a", f"/train submit old --gpu-type a100 {_LANE}")
    await alice.is_told("project team-a has no GPU type a100.", "h100")
