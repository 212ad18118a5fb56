"""What a run's card says in the end when the cluster fails for a while in its middle."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from playground.person import Card
from playground.scenes import ends_well, is_admitted, submits
from playground.story import Story
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.front import Front, opened_front
from tests.cluster.site import JOBS, Site

pytestmark = pytest.mark.usefixtures("team_a")
_COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"


@pytest.fixture
def team_a(gpus: None, site: Site) -> None:
    del gpus
    site.add_team("4", "team-a")


async def is_running(story: Story) -> Card:
    """Alice's run, which ends after an hour of the story."""
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=3600)
    card = await submits(story, story.person("Alice"), "#team-a", "lane", _COMMAND)
    await is_admitted(story, card)
    await card.shows("Running for")
    return card


async def goes_to_its_end(story: Story, card: Card) -> None:
    await ends_well(story.person("Alice"), "#team-a", card, "lane")
    await story.ends()


@contextlib.asynccontextmanager
async def behind_a_front(plane: ControlPlane, out: Path) -> AsyncIterator[tuple[Story, Front]]:
    kubeconfig = out / "front.yaml"
    async with opened_front(plane, kubeconfig) as front:
        by_way = {"clusters": {"default": {"kubeconfig": str(kubeconfig)}}}
        async with opened_story(plane, out, by_way) as story:
            yield story, front


def test_a_run_goes_on_without_its_api_server(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            card = await is_running(story)
            plane.stop_api_server()
            alice = story.person("Alice")
            await alice.types("#team-a", "/train logs lane")
            await alice.is_told("cluster default")
            plane.launch_api_server()
            await asyncio.to_thread(plane.wait_until_it_answers)
            await goes_to_its_end(story, card)

    asyncio.run(play())


def test_watches_that_were_cut_are_taken_up(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with behind_a_front(plane, tmp_path) as (story, front):
            card = await is_running(story)
            front.cut()
            assert front.cut_count > 0
            await goes_to_its_end(story, card)

    asyncio.run(play())


def test_a_job_whose_making_was_not_answered_is_found(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    before = len(plane.audited())

    async def play() -> None:
        async with behind_a_front(plane, tmp_path) as (story, front):
            front.losing.add(("POST", "/jobs"))
            card = await is_running(story)
            assert len(site.api.list(JOBS, "team-a")) == 1
            await goes_to_its_end(story, card)

    asyncio.run(play())
    asked = plane.audited()[before:]
    made = [each.status for each in asked if (each.verb, each.resource) == ("create", "jobs")]
    assert made[0] == 201
    assert set(made[1:]) <= {409}


def test_a_run_waits_for_kueue_to_let_its_job_in(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
            plane.kueue.stop()
            card = await submits(story, story.person("Alice"), "#team-a", "lane", _COMMAND)
            await card.shows("failed calling webhook")
            plane.kueue.launch()
            await asyncio.to_thread(plane.kueue.wait_until_it_answers)
            await is_admitted(story, card)
            await goes_to_its_end(story, card)

    asyncio.run(play())
