"""What people call their runs is no name for Kubernetes; what becomes of it fits everywhere."""

from typing import Any

import pytest

from bot.training.tables import RunPhase
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs

LONG = "3-" + "d" * 58
COMMAND = {"command": ("python", "train.py", "--epochs", "300")}
KINDS: list[dict[str, Any]] = [
    {"kind": "job"},
    {"kind": "interactive", "command": ()},
    {"kind": "mpi", "nodes": 2},
    {"kind": "sync", "nodes": 2},
    {"kind": "elastic", "nodes": 2},
    {"kind": "elastic", "form": "pytorchjob", "nodes": 2},
    {"kind": "elastic", "form": "trainjob", "nodes": 2},
    {"kind": "rayjob", "nodes": 2},
]


@pytest.fixture
def full(rig: Rig) -> Rig:
    """A cluster with every operator."""
    for operator in ("mpi-operator", "training-operator", "trainer", "kuberay"):
        rig.world.install(operator)
    manage_pytorch_jobs(rig)
    rig.look()
    return rig


@pytest.mark.parametrize("name", ["3d-unet", LONG])
@pytest.mark.parametrize("options", KINDS, ids=lambda options: "-".join(map(str, options.values())))
def test_names_with_a_digit_first_run(full: Rig, options: dict[str, Any], name: str) -> None:
    run_id = full.submit(name, gpus=1, **(COMMAND | options))
    full.pass_time(minutes=3)
    row = full.get(run_id)
    assert (row.phase, row.reason) == (RunPhase.RUNNING, "")
    assert row.job_name.startswith("run-3")


def test_a_run_keeps_its_first_name(rig: Rig) -> None:
    run_id = rig.submit("3d-unet")
    before = f"3d-unet-{run_id[-10:]}"
    rig.do(lambda session: setattr(rig.service.get(session, run_id), "job_name", before))
    rig.pass_time(minutes=1)
    rig.restart()
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    (job,) = rig.world.list("jobs", "team-a")
    assert job["metadata"]["name"] == before
    rig.stop(run_id)
    rig.pass_time(minutes=3)
    assert (rig.get(run_id).phase, rig.world.list("jobs", "team-a")) == (RunPhase.STOPPED, [])
