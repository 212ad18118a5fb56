"""The MPIJob of a run."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.objects import Pod
from bot.slack.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.kinds import gpus_of
from bot.training.kinds.mpi import MpiKind
from bot.training.kinds.mpirun import launch_command
from bot.training.spec import RunSpec, to_row
from playground.cluster.operators.job_rules import mpi_causes
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.objects import RUN_ID, pod, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits_custom

SPEC = RunSpec(
    kind="mpi",
    nodes=3,
    image=IMAGE,
    command=("python", "train.py"),
    gpus=Decimal(1),
    cpu="8",
    memory="64Gi",
    shm="8Gi",
    env=(EnvironmentVariable("USE_WORKERS", "true"),),
    secrets=(SecretReference("TOKEN", "hub", "token"),),
    mounts=(VolumeMount("tusimple", "/mnt", read_only=False),),
    time_limit_seconds=7200,
)
LABELS = {
    "app.kubernetes.io/managed-by": "quartermaster",
    "quartermaster.dev/installation": INSTALLATION,
    "quartermaster.dev/run": RUN_ID,
    "quartermaster.dev/team": "team-a",
    "quartermaster.dev/person": ALICE,
}
NAMED = {"quartermaster.dev/name": "lane"}
ENV = [
    {"name": "USE_WORKERS", "value": "true"},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
]
DATA = {"name": "claim-0", "persistentVolumeClaim": {"claimName": "tusimple"}}
AT_MNT = {"name": "claim-0", "mountPath": "/mnt", "readOnly": False}
MPIRUN = (
    "mpirun --allow-run-as-root -bind-to none -map-by slot -np 3"
    " -x LD_LIBRARY_PATH -x PATH -x USE_WORKERS -x TOKEN python train.py"
)


def manifest(spec: RunSpec) -> dict[str, Any]:
    """The MPIJob of a run of this spec."""
    return MpiKind().manifest(run(spec=to_row(spec)), INSTALLATION)


def template(container: dict[str, Any], volumes: list[Any], **more: str) -> dict[str, Any]:
    """A pod of the run."""
    return {
        "metadata": {"labels": LABELS | more, "annotations": NAMED},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": IMAGE, "env": ENV, **container}],
            "volumes": volumes,
        },
    }


def test_a_run_becomes_launcher_and_workers() -> None:
    large = {"cpu": "8", "memory": "72Gi", "nvidia.com/gpu": "1"}
    small = {"cpu": "1", "memory": "2Gi"}
    launcher = {
        "resources": {"requests": small, "limits": {"memory": "2Gi"}},
        "volumeMounts": [AT_MNT],
        "command": MPIRUN.split(),
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}, *ENV],
    }
    worker = {
        "resources": {"requests": large, "limits": {"memory": "72Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}, AT_MNT],  # noqa: S108 - a mount in a pod
    }
    shared = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    launching = template(launcher, [DATA], **{"quartermaster.dev/role": "launcher"})
    assert manifest(SPEC) == {
        "metadata": {
            "name": "lane-124a67dc90",
            "namespace": "team-a",
            "labels": LABELS,
            "annotations": NAMED,
        },
        "spec": {
            "slotsPerWorker": 1,
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": {
                "suspend": True,
                "cleanPodPolicy": "Running",
                "backoffLimit": 2,
                "ttlSecondsAfterFinished": 259200,
                "activeDeadlineSeconds": 7200,
            },
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launching},
                "Worker": {"replicas": 3, "template": template(worker, [shared, DATA])},
            },
        },
    }


def test_the_gpus_of_all_workers_count() -> None:
    assert gpus_of(replace(SPEC, gpus=Decimal(2))) == 6


@pytest.mark.parametrize(
    ("gpus", "processes", "ranks"), [(1, None, "3"), (4, None, "12"), (4, 2, "6"), (0, None, "3")]
)
def test_ranks_are_processes_of_all_nodes(gpus: int, processes: int | None, ranks: str) -> None:
    spec = replace(SPEC, gpus=Decimal(gpus), processes=processes)
    command = launch_command(spec)
    assert command[command.index("-np") + 1] == ranks


@pytest.mark.parametrize(
    "command",
    [
        ("mpirun", "-np", "2", "a.out"),
        ("/usr/bin/horovodrun",),
        ("bash", "-c", "cd /netapp && mpirun -np 2 a.out"),
        ("sh", "-c", "python run.py --nodes=$QUARTERMASTER_HOSTS --port=22122"),
        (),
    ],
)
def test_a_launcher_of_ones_own_stays(command: tuple[str, ...]) -> None:
    assert launch_command(replace(SPEC, command=command)) == command


@pytest.mark.parametrize("command", [("bash", "-c", "python train.py"), ("train", "mpirun")])
def test_other_commands_run_under_mpirun(command: tuple[str, ...]) -> None:
    assert launch_command(replace(SPEC, command=command))[0] == "mpirun"


def test_only_the_launcher_speaks_for_it() -> None:
    launcher: Pod = pod(labels={"quartermaster.dev/role": "launcher"})
    worker: Pod = pod(labels={})
    assert MpiKind().speakers([worker, launcher]) == [launcher]


def test_it_fits_the_operators_schema() -> None:
    fits_custom(manifest(SPEC), "mpijobs.kubeflow.org", "v2beta1")


def test_the_operator_takes_the_job() -> None:
    assert mpi_causes(manifest(SPEC)) == []
