"""Runs of every kind at once: killed in each phase and played on, and stopped in each phase."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cluster import fleet
from tests.cluster.bots import RealStory, opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.fleet import SETUP, SORTS, Fleet, Sort
from tests.cluster.front import Mishap, Mishaps, opened_front
from tests.cluster.kueue import FRAMEWORKS
from tests.cluster.policies import forbid
from tests.cluster.site import Site

# What stays of runs that were made: the volume of one of them.
VOLUME = {"persistentvolumeclaims": 1}
# What stays of those that succeeded, for a day.
ENDED = {"jobs": 6, "mpijobs": 1, "pytorchjobs": 1, "trainjobs": 1, "workloads": 9}
LATE = ("job-", "mpi-", "torch-", "trainer-")
CODE = "acme/lane@3f2a9c1"
_HAS_CODE = (
    "has(object.metadata.annotations) && 'quartermaster.dev/code' in object.metadata.annotations"
)
NO_CODE, NO_MORE = "Runs name their code: --code REPO@COMMIT", "Runs keep to themselves here"
# Those that are more than their roots.
LARGER = tuple(replace(each, name=f"{each.name}-2") for each in SORTS if each.beside)


@pytest.fixture(scope="module")
def sea(plane: ControlPlane) -> Iterator[Site]:
    """A team whose Kueue manages every kind."""
    plane.kueue.configure(integrations={"frameworks": [*FRAMEWORKS, "kubeflow.org/pytorchjob"]})
    site = Site(plane.api)
    fleet.furnish(site)
    yield site
    site.close()
    plane.kueue.configure()


@pytest.fixture(autouse=True)
def emptied(sea: Site) -> Iterator[None]:
    yield
    fleet.let_go(sea.api)
    sea.empty("team-a")
    for claim in sea.api.list(fleet.CLAIMS, "team-a"):
        sea.api.delete(fleet.CLAIMS, claim["metadata"]["name"], "team-a")


def test_runs_killed_in_every_phase_succeed(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            runs = Fleet(story, plane.api)
            await runs.gets_quota(enough=False)
            await runs.gets_nodes(open_=False)
            async with _without_kueue(plane):
                await runs.is_asked_for()
                await story.bot_is_killed()
            await story.bot_returns()
            await runs.has_cards()
            await _wait_for_quota(runs)
            async with _killed(story):
                await runs.gets_quota(enough=True)
                await runs.has_quota()
            await runs.is_admitted()
            await runs.shows("Creating")
            async with _killed(story):
                await runs.gets_nodes(open_=True)
                await runs.runs()
            await runs.shows("Running for")
            async with _killed(story):
                await story.time_leaps(timedelta(hours=fleet.HOURS))
                await runs.operators_end()
            await runs.has_ended("Succeeded", "succeeded")
            await runs.leaves(**ENDED, **VOLUME)
            await story.ends()

    asyncio.run(play())


@contextlib.asynccontextmanager
async def _killed(story: RealStory) -> AsyncIterator[None]:
    """The bot is dead meanwhile."""
    await story.bot_is_killed()
    yield
    await story.bot_returns()


@contextlib.asynccontextmanager
async def _without_kueue(plane: ControlPlane) -> AsyncIterator[None]:
    """No run can be made meanwhile."""
    plane.kueue.stop()
    try:
        yield
    finally:
        plane.kueue.launch()
        await asyncio.to_thread(plane.kueue.wait_until_it_answers)


async def _wait_for_quota(runs: Fleet) -> None:
    await runs.waits_for_quota()
    await runs.shows("Pending", "in its queue")


# While they stop, they are stopped again; the first time they run.
@pytest.mark.parametrize("phase", ["asked", "pending", "creating", "stopping"])
def test_runs_stopped_in_a_phase_leave_nothing(
    phase: str, plane: ControlPlane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            runs = Fleet(story, plane.api)
            await runs.gets_quota(enough=phase != "pending")
            await runs.gets_nodes(open_=phase != "creating")
            async with _without_kueue(plane) if phase == "asked" else contextlib.nullcontext():
                await runs.is_asked_for()
                await runs.has_cards()
                await _reach(phase, runs)
                await runs.is_stopped()
                async with _killed(story):
                    await runs.is_let_go()
            by = "carol" if phase == "stopping" else "alice"
            await runs.has_ended("Stopped", f"was stopped by {by}")
            await runs.leaves(**VOLUME if phase != "asked" else {})
            await story.ends()

    asyncio.run(play())


async def _reach(phase: str, runs: Fleet) -> None:
    match phase:
        case "asked":
            await runs.shows("failed calling webhook")
        case "pending":
            await _wait_for_quota(runs)
        case "creating":
            await runs.is_admitted()
            await runs.shows("Creating")
        case _:
            await runs.is_admitted()
            await runs.runs()
            await runs.shows("Running for")
    if phase == "stopping":
        await runs.is_kept()
        await runs.is_stopped(by="Carol")
        await runs.is_leaving()
        await runs.shows("Stopping")


def _plan(method: str, resource: str, name: str) -> list[Mishap]:
    """Roots meet a conflict first; one of each resource is then answered too late."""
    is_late = name.startswith(LATE)
    if method == "DELETE":
        lost = Mishap.LATE if is_late else Mishap.LOST
    else:
        lost = Mishap.LATE_BUT_DONE if is_late else Mishap.LOST_BUT_DONE
    is_root = any(each.partition(".")[0] == resource for each in fleet.ROOTS)
    return [Mishap.CONFLICT, lost] if is_root else [lost]


def test_writes_that_go_wrong_are_done_once(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        kubeconfig = tmp_path / "front.yaml"
        async with opened_front(plane, kubeconfig) as front:
            by_way = {"clusters": {"default": {"kubeconfig": str(kubeconfig)}}}
            async with opened_story(plane, tmp_path, by_way, setup=SETUP) as story:
                runs = Fleet(story, plane.api)
                front.faults.writes = mishaps = Mishaps(_plan)
                await runs.is_asked_for()
                await runs.has_cards()
                await runs.is_admitted()
                await runs.runs()
                await runs.shows("Running for")
                await runs.leaves(**runs.whole)
                await runs.is_scaled("wide", nodes=1)
                await runs.is_stopped()
                await runs.has_ended("Stopped", "was stopped by alice")
                await runs.leaves(**VOLUME)
                await story.ends()
                assert _unmet(mishaps) == []

    asyncio.run(play())


def _unmet(mishaps: Mishaps) -> list[str]:
    """Writes of which not all went wrong that should have."""
    planned = {("POST", each) for sort in SORTS for each in _made_for(sort)} | {("PATCH", "jobs")}
    met = {(method, resource) for method, resource, _ in mishaps.met}
    missing = [f"{method} {resource}" for method, resource in sorted(planned - met)]
    cut_short = [f"{key}: {what}" for key, what in mishaps.met.items() if what != _plan(*key)]
    return [*missing, *cut_short]


def _made_for(sort: Sort) -> list[str]:
    return [each.partition(".")[0] for each in (sort.root, *sort.beside)]


def test_what_the_cluster_forbids_is_told(plane: ControlPlane, tmp_path: Path) -> None:
    policies = Site(plane.api)

    async def play() -> None:
        async with opened_story(plane, tmp_path, setup=SETUP) as story:
            runs = Fleet(story, plane.api)
            await runs.gets_quota(enough=False)
            await asyncio.to_thread(forbid, policies, fleet.TEAM, fleet.ROOTS, _HAS_CODE, NO_CODE)
            await runs.is_asked_for()
            await _is_forbidden(runs, NO_CODE)
            await asyncio.to_thread(forbid, policies, fleet.TEAM, fleet.BESIDE, "false", NO_MORE)
            runs.sorts = LARGER
            await runs.is_asked_for(f"--code {CODE}")
            await _is_forbidden(runs, NO_MORE)
            await runs.leaves()
            await story.ends()

    try:
        asyncio.run(play())
    finally:
        policies.close()


async def _is_forbidden(runs: Fleet, said: str) -> None:
    """All end before they start; their cards and the replies to Alice quote the policy."""
    runs.cards.clear()
    await runs.has_cards()
    await runs.shows("Failed", f"denied request: {said}")
    await runs.has_ended("Failed", "failed before it started", said, is_bad=True)
