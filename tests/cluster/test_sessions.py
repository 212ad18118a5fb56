"""What is left of a session on a real control plane when its program ends."""

import asyncio
from pathlib import Path

import pytest

from playground.scenarios.notebook import BESIDE, IMAGE
from playground.scenarios.notebook import SETUP as WITH_INGRESS
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import Site


@pytest.mark.usefixtures("gpus")
def test_a_session_that_ends_leaves_nothing_open(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    site.add_team("4", "team-a")

    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=WITH_INGRESS) as story:
            story.trains(IMAGE, seconds_per_epoch=3600)
            story.allowed_writes |= {
                f"{verb} {each}" for verb in ("create", "delete") for each in BESIDE
            }
            alice = story.person("Alice")
            command = f"--kind interactive --image {IMAGE}:2026-11-17 --gpus 1 --time 4h"
            card = await submits(story, alice, "#team-a", "nb", command)
            await is_admitted(story, card)
            await card.shows("Running for")
            for each in BESIDE:
                await story.cluster_has(each, "team-a", "nb", count=1)
            await ends_well(alice, "#team-a", card, "nb")
            for each in BESIDE:
                await story.cluster_has(each, "team-a", "nb", count=0)
            await story.cluster_has("jobs", "team-a", "nb", count=1)

    asyncio.run(play())
