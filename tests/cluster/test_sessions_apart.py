"""Sessions with a queue of their own: Kueue preempts training for its owners, never them."""

import asyncio
from pathlib import Path

import pytest

from playground.cluster.story import cluster_queue
from playground.story.steps import is_admitted, submits
from tests.cluster.api import Object
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, Site

SESSIONS = "team-a-sessions"
IMAGE, NOTEBOOK = "ghcr.io/acme/lane", "quay.io/jupyter/base-notebook"
APART = {"teams": {"team-a": {"interactive_queue": SESSIONS}}}


def add_sessions(site: Site) -> None:
    """A queue of 2 GPUs that neither lends nor borrows."""
    body = cluster_queue("team-a", "2")
    body["metadata"]["name"] = SESSIONS
    del body["spec"]["cohortName"]
    body["spec"]["preemption"] = {"withinClusterQueue": "Never"}
    site.add(CLUSTER_QUEUES, body)
    local = {"metadata": {"name": SESSIONS}, "spec": {"clusterQueue": SESSIONS}}
    site.api.create(LOCAL_QUEUES, local, "team-a")


def workload(site: Site, run: str) -> Object:
    """The Workload of a run of team-a."""
    found = [
        each
        for each in site.api.list(WORKLOADS, "team-a")
        if each["metadata"]["ownerReferences"][0]["name"].startswith(f"{run}-")
    ]
    (only,) = found
    return only


def conditions(of: Object) -> dict[str, str]:
    return {each["type"]: each["status"] for each in of["status"]["conditions"]}


@pytest.mark.usefixtures("gpus")
def test_training_that_borrows_preempts_no_session(
    plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    site.add_team("4", "team-a")
    site.add_team("8", "team-b")
    add_sessions(site)

    async def play() -> None:
        async with opened_story(plane, tmp_path, settings=APART) as story:
            story.trains(NOTEBOOK, seconds_per_epoch=36000)
            story.trains(IMAGE, seconds_per_epoch=36000)
            story.allowed_writes |= {f"create {each}" for each in ("secrets", "services")}
            alice, bob = story.person("Alice"), story.person("Bob")
            train = f"--image {IMAGE}:3.1 --gpus 8 -- python train.py"
            lane = await submits(story, alice, "#team-a", "lane", train)
            await is_admitted(story, lane)
            await lane.shows("Running for")
            command = f"--kind interactive --image {NOTEBOOK}:2026-11-17 --gpus 2 --time 4h"
            nb = await submits(story, alice, "#team-a", "nb", command)
            await is_admitted(story, nb)
            await nb.shows("Running for")
            assert workload(site, "nb")["spec"]["queueName"] == SESSIONS
            base = await submits(story, bob, "#team-b", "base", train)
            await is_admitted(story, base)
            owner = "Its GPUs were borrowed, and the team they belong to needed them back."
            await story.reply(lane, f"was preempted. {owner}")
            await nb.shows("Running for")
            await alice.types("#team-a", "/quota status")
            await alice.is_told("team-a sessions", "h100")

    asyncio.run(play())
    assert conditions(workload(site, "lane"))["Preempted"] == "True"
    told = conditions(workload(site, "nb"))
    assert (told["Admitted"], told.get("Preempted"), told.get("Evicted")) == ("True", None, None)
