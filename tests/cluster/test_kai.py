"""The engine `kai` on a real API server with KAI's own definitions; a test writes its status."""

import asyncio
from pathlib import Path

from playground.settings import Setup
from playground.story.steps import approves, asks_for_gpus, ends_well, is_admitted, submits
from playground.story.story import Story
from tests.cluster import kai
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kai import QUEUES, Hand
from tests.cluster.site import Site

_COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 6 -- python train.py"


def test_kai_runs_wait_start_and_end(plane: ControlPlane, site: Site, tmp_path: Path) -> None:
    site.add_node("gpu-1")
    kai.furnish(site)
    asyncio.run(_play(plane, site, tmp_path))


async def _play(plane: ControlPlane, site: Site, out: Path) -> None:
    hand = Hand(site.api, "team-a")
    async with opened_story(plane, out, setup=Setup(clusters={"default": "kai"})) as story:
        alice = story.person("Alice")
        story.trains("ghcr.io/acme/lane", seconds_per_epoch=600)
        card = await submits(story, alice, "#team-a", "lane", _COMMAND)
        group = await asyncio.to_thread(hand.groups, "lane", 6)
        await asyncio.to_thread(
            hand.leaves_waiting, group, "OverLimit", "team-a quota has reached the allowable limit"
        )
        await card.shows("Pending", "team-a quota has reached the allowable limit")
        await alice.types("#team-a", "/train why lane")
        await alice.is_told("Pending", "team-a quota has reached the allowable limit")
        await _more_quota(story, site)
        await asyncio.to_thread(hand.places, "lane", group, 6, "gpu-1")
        await is_admitted(story, card)
        await card.shows("Running for")
        await story.rest()
        await alice.types("#team-a", "/quota status")
        await alice.is_told("GPU quota of team-a", "default | 6 | 6 | 0")
        await ends_well(alice, "#team-a", card, "lane")
        await asyncio.to_thread(hand.uses, 0)
        await story.ends()


async def _more_quota(story: Story, site: Site) -> None:
    own, request = await asks_for_gpus(
        story,
        story.person("Alice"),
        '+2 --for 1h --reason "CVPR deadline"',
        title="Quota override for team-a: +2 default",
        receipt="Requested for team-a: nominal quota 4 → 6 GPUs of default, for 1h",
    )
    await approves(story, story.person("Carol"), request, own)
    queue = site.api.get(QUEUES, "team-a") or {}
    assert queue["spec"]["resources"]["gpu"]["quota"] == 6
