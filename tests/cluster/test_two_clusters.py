"""A run that moves between two real control planes, each with its own Kueue and its own rights."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.story.person import Card
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.building import kept
from tests.cluster.control_plane import ControlPlane, running
from tests.cluster.site import JOBS, WORKLOADS, Site

_SETTINGS = {
    "teams": {"team-a": {"clusters": ["default", "burst"]}},
    # The clock may leap while a cluster is down.
    "training": {"long_wait": "24h"},
    "templates": {"dgx": {"after": "2m"}, "rented": {"cluster": "burst"}},
}
_WIDE = "--image ghcr.io/acme/lane:3.1 --gpus 8 --on dgx,rented -- python train.py"


@pytest.fixture(scope="module")
def burst(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A second control plane, with room for what the first one has none for."""
    del plane  # it starts first
    built = kept()
    assert built is not None
    with running(built) as second:
        site = Site(second.api)
        site.add_node("gpu-1")
        site.add_flavor()
        for name in ("team-a", "team-b"):
            site.add_team("8", name)
        yield second


@pytest.fixture
def narrow(site: Site, gpus: None) -> None:
    """The first cluster: no team has quota for 8 GPUs."""
    del gpus
    for name in ("team-a", "team-b"):
        site.add_team("4", name, cohort=f"of-{name}")


def left(plane: ControlPlane) -> list[str]:
    """What a run may leave in a cluster, except its finished Job."""
    found = [each for kind in (JOBS, WORKLOADS, "pods") for each in plane.api.list(kind, "team-a")]
    return [each["metadata"]["name"] for each in found]


def refused(plane: ControlPlane) -> list[str]:
    """What the bot lacked a right for."""
    lacked = (each for each in plane.audited() if each.status == 403 and not each.is_allowed)
    return [
        f"{each.verb} {each.resource}" for each in lacked if not plane.was_refused_in_starting(each)
    ]


async def moved(story: RealStory, name: str) -> Card:
    """A run that the first cluster does not admit, on the second."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=20)
    card = await submits(story, alice, "#team-a", name, _WIDE)
    await story.reply(card, "Not admitted on dgx in", "waits on rented now")
    return card


async def ends(story: RealStory, card: Card, name: str) -> None:
    await is_admitted(story, card)
    await ends_well(story.person("Alice"), "#team-a", card, name)
    await card.shows("Template: rented, 2 of 2", f"burst: team-a/{name}-")


@pytest.mark.usefixtures("narrow")
def test_a_run_moves_to_another_cluster(
    plane: ControlPlane, burst: ControlPlane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, _SETTINGS, beside={"burst": burst}) as story:
            card = await moved(story, "wide")
            await story.until(lambda: not left(plane), lambda: f"left: {left(plane)}")
            await ends(story, card, "wide")
            [job] = burst.api.list(JOBS, "team-a")
            assert job["metadata"]["name"].startswith("wide-")

    asyncio.run(play())
    assert left(plane) == []
    assert refused(burst) == []


@pytest.mark.usefixtures("narrow")
def test_a_run_waits_for_an_absent_cluster(
    plane: ControlPlane, burst: ControlPlane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, _SETTINGS, beside={"burst": burst}) as story:
            alice = story.person("Alice")
            story.trains("ghcr.io/acme/lane", seconds_per_epoch=20)
            burst.stop_api_server()
            try:
                card = await submits(story, alice, "#team-a", "held", _WIDE)
                await card.shows(
                    "It cannot move on to rented, because cluster burst does not respond."
                )
            finally:
                await asyncio.to_thread(burst.start_api_server)
            await story.reply(card, "Not admitted on dgx in", "waits on rented now")
            await ends(story, card, "held")

    asyncio.run(play())
    assert left(plane) == []
