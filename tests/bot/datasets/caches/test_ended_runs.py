"""What ended runs left goes with a cache; what still runs, or is not ours, never does."""

from bot.cluster import labels
from bot.cluster.resources import JOBS
from bot.datasets.caches.evictions.eviction import clear_ended_runs
from playground.cluster.control.training import Training
from tests.bot.datasets.caches.keeping import Keeping
from tests.bot.ground import INSTALLATION

CLAIM, OTHER_CLAIM = "team-a-data", "imagenet"


def start(keeping: Keeping, name: str, *, claim: str = CLAIM, of: str = INSTALLATION) -> None:
    """A Job of a run that mounts a PVC of team-a."""
    marks = {labels.INSTALLATION: of, labels.RUN: f"run-{name}"}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    containers = [{"name": "main", "image": name}]
    pod = {"restartPolicy": "Never", "containers": containers, "volumes": volumes}
    template = {"metadata": {"labels": marks}, "spec": pod}
    job = {"metadata": {"name": name, "labels": marks}, "spec": {"template": template}}
    keeping.world.create("jobs", job, "team-a")


def test_only_ended_runs_of_ours_are_removed(keeping: Keeping) -> None:
    keeping.world.behaviours["endless"] = Training(never_ends=True)
    start(keeping, "ended")
    start(keeping, "endless")
    start(keeping, "foreign", of="another")
    start(keeping, "elsewhere", claim=OTHER_CLAIM)
    keeping.pass_time(hours=1)
    keeping.cluster.view.store(JOBS).replace(keeping.cluster.list(JOBS, "team-a"))
    for _ in range(2):
        clear_ended_runs(keeping.cluster, frozenset({("team-a", CLAIM)}))
    left = [each.name for each in keeping.cluster.list(JOBS, "team-a")]
    assert sorted(left) == ["elsewhere", "endless", "foreign"]
    assert keeping.effects() == ["delete jobs"]
