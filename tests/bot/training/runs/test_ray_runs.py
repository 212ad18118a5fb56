"""Runs on a Ray cluster, in a cluster over HTTP."""

import pytest

from bot.errors import ConflictError
from bot.slack.grammar.parameters import Nodes
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.ledger import Fault
from tests.bot.training.rig import IMAGE, Rig


def submit(rig: Rig) -> str:
    command = ("python", "tune.py", "--epochs", "30")
    return rig.submit("tune", kind="rayjob", nodes=Nodes(2, 2), gpus=1, command=command)


@pytest.fixture
def served(rig: Rig) -> Rig:
    """A cluster with KubeRay."""
    rig.world.install("kuberay")
    rig.look()
    return rig


def left(rig: Rig) -> dict[str, int]:
    kinds = ("rayjobs", "rayclusters", "jobs", "pods")
    return {kind: len(rig.world.list(kind, "team-a")) for kind in kinds}


def test_a_cluster_without_kuberay_is_told_before(rig: Rig) -> None:
    with pytest.raises(ConflictError) as refused:
        submit(rig)
    assert refused.value.message == "Cluster default does not serve rayjobs."
    assert refused.value.hint == (
        "A platform admin has to install KubeRay 1.3 or newer, which serves ray.io/v1."
        " `--kind sync` and `--kind elastic` need no operator."
    )


@pytest.mark.parametrize("fault", [None, Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_ray_job_runs_to_its_end(served: Rig, fault: Fault | None) -> None:
    if fault is not None:
        served.outside.ledger.by_name["create rayjobs"] = [fault]
    run_id = submit(served)
    served.pass_time(minutes=2)
    assert served.get(run_id).phase == RunPhase.RUNNING
    assert left(served) == {"rayjobs": 1, "rayclusters": 1, "jobs": 1, "pods": 4}
    served.pass_time(hours=2)
    assert served.get(run_id).phase == RunPhase.SUCCEEDED
    assert left(served) == {"rayjobs": 1, "rayclusters": 0, "jobs": 1, "pods": 1}
    served.pass_time(days=3, hours=1)
    assert left(served) == {"rayjobs": 0, "rayclusters": 0, "jobs": 0, "pods": 0}


def test_a_program_that_fails_is_tried_three_times(served: Rig) -> None:
    served.world.behaviours[IMAGE] = Training(fails_after=20, exit_code=3)
    run_id = submit(served)
    served.pass_time(hours=1)
    run = served.get(run_id)
    assert (run.phase, run.reason) == (
        RunPhase.FAILED,
        "Job entrypoint command failed with exit code 3. This was attempt 3.",
    )


def test_a_stopped_run_leaves_nothing_of_ray(served: Rig) -> None:
    run_id = submit(served)
    served.pass_time(minutes=2)
    served.stop(run_id)
    served.pass_time(minutes=2)
    assert served.get(run_id).phase == RunPhase.STOPPED
    assert left(served) == {"rayjobs": 0, "rayclusters": 0, "jobs": 0, "pods": 0}
