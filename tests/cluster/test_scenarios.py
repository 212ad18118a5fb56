"""The playground's stories, told as they are written on a real control plane."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from playground import scenarios
from playground.cluster.story import TEAMS, cluster_queue
from playground.story.scenario import Scenario
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import ControlPlane
from tests.cluster.scenery import furnish
from tests.cluster.site import CLUSTER_QUEUES, Site

# What is not told here, and why.
EXCEPTED = {
    "anf-levels": "its PVCs stand for volumes of the playground's own Azure",
    "anf-pools": "as anf-levels",
    "anf-repair": "as anf-levels; test_repairs tells Trident's record on this control plane",
    "anf-subscriptions": "as anf-levels",
    "anf-volumes": "its PVCs stand for volumes of the playground's own Azure",
    "daily": "no GPU is measured here, and a week passes in its minutes; test_samples and"
    " test_digests tell it with a real Prometheus",
    "dataset-browse": "no pod really runs here, so nothing surveys its bucket",
    "dataset-versions": "no pod really runs here, so nothing surveys its bucket",
    "elastic-kai": "no KAI scheduler runs here",
    "fairness": "is told by test_fairness, on queues and nodes of its own",
    "fairness-kai": "no KAI scheduler runs here",
    "followed-log": "time leaps from the end of one pod to that of the next, so no log grows",
    "gpu-types": "its GPUs of a second type have a node, a flavor and quota of their own",
    "gpu-types-kai": "no KAI scheduler runs here",
    "kai": "no KAI scheduler runs here; test_kai writes in its place",
    "lane-detection": "is told by test_lane_detection, with a played Trident and no MPI operator",
    "log-tail": "time leaps to the end of each pod, often before its bar is seen; test_logs in"
    " tests/node reads logs of a real kubelet",
    "mpi": "no MPI operator runs here; test_operators shows that Kueue admits its runs",
    "nccl": "its nodes have network adapters that its Kueue does not count",
    "operator-missing": "other tests have defined the operators' kinds on this control plane",
    "pvcs": "as anf-levels, and no pod really runs here, so nothing is written to its PVC",
    "ray-job": "no KubeRay runs here; test_kinds shows that its objects are accepted",
    "runai": "no Run:ai schedules here",
    "slow-pair": "its network tests run on four nodes of an instance type that no node has here",
    "snapshot-runs": "no pod really runs here, so it would read nothing; test_snapshots tells it",
    "snapshots": "no pod really runs here, so nothing is in its volumes; test_snapshots tells it",
    "snapshots-in-place": "no pod really runs here; test_in_place tells it with a played Trident",
    "team": "the bot has no rights for it in these stories; test_teams tells it with them",
    "team-runai": "no Run:ai has quotas here",
    "things-break": "it breaks nodes and volumes inside the playground (story.nature, story.pod)",
    "early-stop": "no pod really runs here, so no log has the metric by which a run is stopped",
    "mlflow": "no pod really runs here, so no log has metrics to export",
    "sweep": "no pod really runs here, so no log has the result by which its runs are compared",
    "shortcuts": "time leaps to the end of each pod, so no run is there to stop or compare",
    "thread-commands": "time leaps to the end of each pod, so no run is there to ask about or stop",
    "train-job": "no Trainer runs here; test_operators shows that Kueue admits its runs",
    "unused-nodes": "its nodes are of node groups, and time leaps over what samples would see",
    "watched-run": "time leaps to the end of each pod, so a run has ended before it is watched",
    "two-clusters": "there is one control plane; its second cluster is one with KAI",
    "compute-templates": "its second cluster is one with KAI; test_two_clusters tells it",
}
TOLD = [
    name
    for name in scenarios.summaries()
    # Pods of KWOK do no work, so they read and write no bucket.
    if name not in EXCEPTED and not scenarios.named(name).setup.bucket
]


@pytest.fixture(scope="module")
def scenery(plane: ControlPlane) -> Iterator[None]:
    """The stories' nodes, teams and queues, for all of them."""
    site = Site(plane.api)
    furnish(site)
    yield
    site.close()


@pytest.fixture
def cleared(scenery: None, site: Site) -> Iterator[None]:
    """Takes away what a story leaves behind: its runs, and quotas that it raised or noted."""
    del scenery
    yield
    for team, gpus in TEAMS.items():
        site.empty(team)
        as_before = {"metadata": {"annotations": None}, "spec": cluster_queue(team, gpus)["spec"]}
        site.api.patch(CLUSTER_QUEUES, team, as_before)


@pytest.mark.usefixtures("cleared")
@pytest.mark.parametrize("name", TOLD)
def test_story_goes_on_a_real_cluster(
    name: str, plane: ControlPlane, site: Site, tmp_path: Path
) -> None:
    scenario = scenarios.named(name)
    for number, gpus in enumerate(scenario.setup.big_nodes, start=3):
        site.add_node(f"gpu-{number}", gpus)
    with _kueue(plane, manages_jobs=scenario.setup.kueue):
        asyncio.run(_told(plane, scenario, tmp_path))


@contextmanager
def _kueue(plane: ControlPlane, *, manages_jobs: bool) -> Iterator[None]:
    """Kueue as usual, or one that was told to leave Jobs alone."""
    if manages_jobs:
        yield
        return
    plane.kueue.configure(integrations={"frameworks": ["pod"]})
    try:
        yield
    finally:
        plane.kueue.configure()


async def _told(plane: ControlPlane, scenario: Scenario, out: Path) -> None:
    async with opened_story(plane, out, setup=scenario.setup) as story:
        await scenario.play(story)
        await story.ends()
