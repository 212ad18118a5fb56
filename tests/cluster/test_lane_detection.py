"""The guide's story (playground.scenarios.lane_detection) on a real control plane.

A test plays Trident, whose volumes are in the playground's Azure. Its runs on three GPUs are Jobs,
as no MPI operator runs here; what is in the volumes is looked at in the playground, where pods
really run.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground import scenarios
from playground.arm.estate import Estate
from playground.cluster.cluster import Cluster
from playground.scenarios import lane_detection as lane
from playground.settings import Setup
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import driving
from tests.cluster.site import Site
from tests.cluster.trident import Trident

_BESIDE = {f"{verb} {each}" for verb in ("create", "delete") for each in ("secrets", "services")}


def _arranged(_cluster: Cluster, estate: Estate) -> None:
    account = estate.add_account()
    estate.add_pool(account, "standard-1", "Standard", 4)
    estate.add_pool(account, "premium-1", "Premium", 4)


@pytest.fixture
def trident(plane: ControlPlane, site: Site) -> Iterator[Trident]:
    found = Trident(plane.api, site)
    yield found
    found.close()


@pytest.mark.usefixtures("gpus")
def test_guide_to_lane_detection_is_told(
    plane: ControlPlane, site: Site, trident: Trident, tmp_path: Path
) -> None:
    for name, quota in (("team-a", "4"), ("team-b", "8")):
        site.add_team(quota, name)
    settings = scenarios.named("lane-detection").setup.settings
    setup = Setup(azure=_arranged, settings=settings)

    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=setup) as story:
            trident.uses(story.azure, story.azure.pools[0])
            await _told(story)
            volume = story.azure.volumes[0]
            kept = trident.record(volume.name.removeprefix("trident-")) or {"config": {}}
            assert kept["config"]["internalID"] == story.azure.volume_id(volume)

    with driving(plane.api, site, "team-a", trident.driver()):
        asyncio.run(play())


async def _told(story: RealStory) -> None:
    # That it asks what it may do is a question, which the API server takes for a write.
    story.allowed_writes |= {*_BESIDE, "create selfsubjectaccessreviews"}
    alice = story.person("Alice")
    claim = await lane.downloads(story, alice)
    await lane.trains_on_one(story, alice, claim)
    words = f"--kind sync --nodes 3 {lane.options(claim)}"
    run, kept = await lane.trains(story, alice, claim, words)
    await lane.goes_on(story, alice, claim)
    await lane.names_each_other(alice, claim, run, kept)
    await lane.is_restored(story, alice, claim)
    await lane.moves(story, claim)
    await story.ends()
