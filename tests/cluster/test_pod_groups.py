"""A run of two objects under a real Kueue: its pods are one group, admitted as a whole."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from playground.settings import Setup
from playground.story.person import Card
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story
from tests.cluster.api import wait_for
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.scenery import furnish
from tests.cluster.site import WORKLOADS, Site

GROUP = "kueue.x-k8s.io/pod-group-name"
ADMISSION = {"host_network": ["sync"]}
SETUP = Setup(settings={"teams": {"team-a": {"admission": ADMISSION}}})
WIDE = (
    "--kind sync --form deployment --host-network --nodes 2 --gpus 6"
    " --image ghcr.io/acme/lane:3.1 -- python train.py"
)
BASE = "--image ghcr.io/acme/base:2.0 --gpus 8 -- python serve.py"
BESIDE = ("secrets", "services", "deployments")


@pytest.fixture
def scenery(plane: ControlPlane) -> Iterator[Site]:
    """What stories begin with."""
    site = Site(plane.api)
    furnish(site)
    yield site
    site.close()


async def submitted(story: Story) -> Card:
    """Alice's run on both nodes."""
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in BESIDE}
    return await submits(story, story.person("Alice"), "#team-a", "wide", WIDE)


@contextmanager
def without_pods(plane: ControlPlane) -> Iterator[None]:
    """A Kueue whose integration of plain pods is off, and so those that depend on it."""
    plane.kueue.configure(integrations={"frameworks": ["batch/job"]})
    try:
        yield
    finally:
        plane.kueue.configure()


def groups(site: Site) -> list[dict[str, Any]]:
    """The Workloads of team-a."""
    return site.api.list(WORKLOADS, "team-a")


def scheduled(site: Site) -> set[str]:
    """The events of team-a, also those of earlier stories, about pods that got a node."""
    events = site.api.list("events", "team-a")
    return {each["metadata"]["name"] for each in events if each["reason"] == "Scheduled"}


def has_ended(site: Site) -> bool:
    """Whether no Workload holds quota, and Kueue has let all pods of the group go."""
    names = [each["metadata"]["name"] for each in groups(site)]
    pods = [each["metadata"] for each in site.api.list("pods", "team-a")]
    held = [each.get("finalizers", ()) for each in pods if GROUP in each["labels"]]
    is_kept = any("kueue.x-k8s.io/managed" in each for each in held)
    finished = [site.condition(WORKLOADS, name, "team-a", "Finished") for name in names]
    return not is_kept and all(finished)


def test_a_preempted_group_returns_as_a_whole(
    plane: ControlPlane, scenery: Site, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            alice, bob = story.person("Alice"), story.person("Bob")
            story.trains("ghcr.io/acme/lane", seconds_per_epoch=25)
            story.trains("ghcr.io/acme/base", seconds_per_epoch=10)
            wide = await submitted(story)
            await is_admitted(story, wide)
            await wide.shows("Running for", "GPUs: 12 (6 on each of 2 nodes)")
            (workload,) = groups(scenery)
            assert [each["count"] for each in workload["spec"]["podSets"]] == [2]
            base = await submits(story, bob, "#team-b", "base", BASE)
            await story.reply(wide, "was preempted. Its GPUs were borrowed")
            await is_admitted(story, base)
            await ends_well(bob, "#team-b", base, "base")
            await is_admitted(story, wide)
            await ends_well(alice, "#team-a", wide, "wide")
            await asyncio.to_thread(wait_for, lambda: has_ended(scenery), "the end of the group")
            await story.ends()

    asyncio.run(play())


def test_a_failing_launcher_gives_all_quota_back(
    plane: ControlPlane, scenery: Site, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            story.trains("ghcr.io/acme/lane", fails_after=5.0)
            wide = await submitted(story)
            await is_admitted(story, wide)
            for attempt in (1, 2):
                await story.reply(wide, f"Attempt {attempt} of 3 failed.")
            await wide.shows("Failed")
            alice = story.person("Alice")
            await alice.is_mentioned("#team-a", "wide failed after", thread=wide, broadcast=True)
            await story.cluster_has("deployments", "team-a", "wide", count=0)
            await asyncio.to_thread(wait_for, lambda: has_ended(scenery), "the end of the group")
            await story.ends()

    asyncio.run(play())


def test_pods_never_start_without_their_integration(
    plane: ControlPlane, scenery: Site, tmp_path: Path
) -> None:
    async def play() -> None:
        before = scheduled(scenery)
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            wide = await submitted(story)
            await wide.shows("Not managed by its quota engine", "the integration pod in Kueue's")
            alice = story.person("Alice")
            await alice.is_mentioned("#team-a", "wide failed", thread=wide, broadcast=True)
            await story.cluster_has("deployments", "team-a", "wide", count=0)
            assert scheduled(scenery) == before
            await story.ends()

    with without_pods(plane):
        asyncio.run(play())
