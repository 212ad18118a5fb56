"""What a run's card says in the end when the cluster fails for a while in its middle."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from playground.cluster.story import GPU
from playground.story.person import Card
from playground.story.steps import approves, asks_for_gpus, ends_well, is_admitted, submits
from playground.story.story import Story
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.front import Front, opened_front, too_many, too_old
from tests.cluster.site import CLUSTER_QUEUES, JOBS, Site

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
            alice = story.person("Alice")
            plane.stop_api_server()
            try:
                await alice.types("#team-a", "/train logs lane")
                await alice.is_told("cluster default")
            finally:
                plane.launch_api_server()
            await asyncio.to_thread(plane.wait_until_it_answers)
            await goes_to_its_end(story, card)

    asyncio.run(play())


def test_watches_cut_or_too_old_are_renewed(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with behind_a_front(plane, tmp_path) as (story, front):
            card = await is_running(story)
            assert front.cut() > 0
            await story.rest()
            front.faults.answered |= {("WATCH", end): too_old() for end in ("/pods", "/jobs")}
            front.cut()
            await story.until(lambda: not front.faults.left, lambda: f"{front.faults.left}")
            await goes_to_its_end(story, card)

    asyncio.run(play())


def test_a_job_refused_then_unanswered_is_found(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    before = len(plane.audited())

    async def play() -> None:
        async with behind_a_front(plane, tmp_path) as (story, front):
            front.faults.answered[("POST", "/jobs")] = too_many()
            front.faults.lost.add(("POST", "/jobs"))
            card = await is_running(story)
            assert front.faults.left == []
            assert len(site.api.list(JOBS, "team-a")) == 1
            await goes_to_its_end(story, card)

    asyncio.run(play())
    asked = plane.audited()[before:]
    made = [each.status for each in asked if (each.verb, each.resource) == ("create", "jobs")]
    assert made[0] == 201
    assert set(made[1:]) <= {409}


def test_a_quota_that_changed_meanwhile_is_read_anew(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    before = len(plane.audited())
    change = {"metadata": {"annotations": {"example.com/note": "written meanwhile"}}}
    meanwhile = partial(site.api.patch, CLUSTER_QUEUES, "team-a", change)

    async def play() -> None:
        async with behind_a_front(plane, tmp_path) as (story, front):
            front.faults.preceded[("PATCH", "/clusterqueues/team-a")] = meanwhile
            own, request = await asks_for_gpus(
                story,
                story.person("Alice"),
                '+2 --for 1h --reason "CVPR deadline"',
                title="Quota override for team-a: +2 h100",
                receipt="Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 1h",
            )
            await approves(story, story.person("Carol"), request, own)
            await story.ends()

    asyncio.run(play())
    asked = plane.audited()[before:]
    assert [each.status for each in asked if each.verb == "patch"] == [422, 200]
    queue = site.api.get(CLUSTER_QUEUES, "team-a") or {}
    assert queue["metadata"]["annotations"]["example.com/note"] == "written meanwhile"
    resources = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert {each["name"]: each["nominalQuota"] for each in resources}[GPU] == "6"


def test_a_run_waits_until_kueue_answers_again(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
            plane.kueue.stop()
            try:
                card = await submits(story, story.person("Alice"), "#team-a", "lane", _COMMAND)
                await card.shows("failed calling webhook")
                await _stops_one_with_a_volume(story, plane)
            finally:
                plane.kueue.launch()
            await asyncio.to_thread(plane.kueue.wait_until_it_answers)
            await is_admitted(story, card)
            await goes_to_its_end(story, card)

    asyncio.run(play())


async def _stops_one_with_a_volume(story: Story, plane: ControlPlane) -> None:
    """A volume that no run has used goes with the run that was never made."""
    story.allowed_writes |= {f"{verb} persistentvolumeclaims" for verb in ("create", "delete")}
    alice = story.person("Alice")
    card = await submits(story, alice, "#team-a", "eval", f"--pvc standard:10Gi:/mnt {_COMMAND}")
    await card.shows("failed calling webhook")
    assert len(plane.api.list("persistentvolumeclaims", "team-a")) == 1
    await alice.types("#team-a", "/train stop eval")
    await alice.is_told("Stopping eval")
    await card.shows("Stopped")
    await alice.is_mentioned("#team-a", "eval was stopped by alice", thread=card)
    await story.until(
        lambda: not plane.api.list("persistentvolumeclaims", "team-a"), lambda: "its PVC is left"
    )
