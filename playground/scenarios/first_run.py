"""Alice trains, is helped with a typo, requests more GPUs, and gets them for three days."""

import re
from datetime import timedelta

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

# Alice may approve what others ask for, so that it is her own request which she may not.
_APPROVERS = {"quota_override": {"approvers": {"people": ["U0CAROL", "U0ALICE"]}}}
SETUP = Setup(settings={"approvals": _APPROVERS}, big_nodes=(16,))
SUBMIT = (
    "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
    " -- python train.py --epochs 3"
)
BIG = "--image ghcr.io/acme/big:1.0 --gpus 12 -- python train.py --epochs 1"


async def play(story: Story) -> None:
    """From a slash command to a finished run, and from a request to quota put back."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=5)
    story.trains("ghcr.io/acme/big", seconds_per_epoch=10)
    story.trains("ghcr.io/acme/base", seconds_per_epoch=120)
    await _a_run_from_its_start_to_its_end(story, alice)
    await _questions_have_answers(alice)
    base = await _bob_uses_all_of_his_own(story)
    big = await _a_run_that_waits_says_why(story, alice)
    request, own = await _more_quota_is_asked_for_and_given(story, alice)
    await is_admitted(story, big)
    await ends_well(alice, "#team-a", big, "big")
    await ends_well(story.person("Bob"), "#team-b", base, "base")
    await story.pass_time(timedelta(days=3))
    await is_put_back(story, request, own)
    await _quota_is_as_before(alice)


async def _a_run_from_its_start_to_its_end(story: Story, alice: Person) -> None:
    await alice.types("#team-a", SUBMIT)
    await alice.is_told(
        (
            "Submitted run lane with 2 GPUs, 16 cores and 144Gi memory (including 16Gi of"
            " /dev/shm), for team-a."
        ),
        "Its card in this channel follows it. /train stop lane stops it.",
    )
    card = await story.card("#team-a", "lane")
    await is_admitted(story, card)
    await card.shows("Running for")
    await card.offers("Logs", "Stop")
    await ends_well(alice, "#team-a", card, "lane")
    await card.shows(
        re.compile(r"Succeeded in \d+s"), "100 % · 3 of 3 epochs", "Total images/sec: 812.4"
    )
    await card.offers("Logs", "Curves", "Resubmit")


async def _questions_have_answers(alice: Person) -> None:
    await alice.types("#team-a", "/train submti lane")
    await alice.is_told("submit")
    await alice.types("#team-a", "/train help")
    await alice.is_told("/train", "submit", "list")
    await alice.types("#team-a", "/train list")
    await alice.is_told("lane", "Succeeded")
    await alice.types("#team-a", "/train show lane")
    await alice.is_told("lane", "ghcr.io/acme/lane:3.1")
    await alice.types("#team-a", "/train logs lane --tail 50")
    await alice.is_told("batch size 33")


async def _bob_uses_all_of_his_own(story: Story) -> Card:
    command = "--image ghcr.io/acme/base:2.0 --gpus 8 -- python serve.py"
    base = await submits(story, story.person("Bob"), "#team-b", "base", command)
    await is_admitted(story, base)
    await base.shows("Running for")
    return base


async def _a_run_that_waits_says_why(story: Story, alice: Person) -> Card:
    big = await submits(story, alice, "#team-a", "big", BIG)
    await big.shows("Pending", "It is waiting for 12 GPUs of h100")
    await alice.types("#team-a", "/train why big")
    await alice.is_told("It is waiting for 12 GPUs of h100", "nominal quota of 4")
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "h100 | 4 | 0 | 0 | 0 | 1 (12 GPUs)")
    return big


async def _more_quota_is_asked_for_and_given(story: Story, alice: Person) -> tuple[Card, Card]:
    carol, dan = story.person("Carol"), story.person("Dan")
    own, request = await asks_for_gpus(
        story,
        alice,
        '+8 --for 3d --reason "CVPR deadline"',
        title="Quota override for team-a: +8 h100",
        receipt="Requested for team-a: nominal quota 4 → 12 GPUs of h100, for 3d",
    )
    await request.shows("Waiting for approval", "CVPR deadline", "would start now")
    await request.offers("Approve", "Deny")
    await alice.clicks(request, "Approve")
    await alice.is_told("You cannot decide your own request.")
    await dan.clicks(request, "Approve")
    await dan.is_told("Checking who you are.")
    await story.rest()
    await dan.clicks(request, "Approve")
    await dan.is_told("Guests and people from other workspaces cannot use Quartermaster.")
    await approves(story, carol, request, own)
    return request, own


async def _quota_is_as_before(alice: Person) -> None:
    await alice.types("#team-a", "/quota status")
    await alice.is_told("GPU quota of team-a", "h100 | 4 | 0 | 0 | 8 | 0")
    await alice.types("#team-a", "/quota history")
    await alice.is_told("CVPR deadline", "approved by @Carol", "ended")
