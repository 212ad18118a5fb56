"""The MPIJob of a run."""

from base64 import b64decode
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.types.objects import Pod
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.kinds import gpus_of
from bot.training.kinds.mpi import MpiKind
from bot.training.kinds.pods.mpirun import launch_command
from bot.training.spec import RunSpec, to_row
from playground.cluster.control.expansion import words_of
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
UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}
ENV = [
    {"name": "USE_WORKERS", "value": "true"},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
]
DATA = {"name": "claim-0", "persistentVolumeClaim": {"claimName": "tusimple"}}
AT_MNT = {"name": "claim-0", "mountPath": "/mnt", "readOnly": False}
HOSTFILE = "/etc/quartermaster/hostfile"
WORKERS = [f"lane-124a67dc90-worker-{index}.lane-124a67dc90.team-a.svc" for index in range(3)]
HOSTS = [
    {"name": "QUARTERMASTER_HOSTS", "value": ",".join(WORKERS)},
    {"name": "QUARTERMASTER_HOSTFILE", "value": HOSTFILE},
    {"name": "HYDRA_HOST_FILE", "value": "/etc/quartermaster/machinefile"},
    {"name": "I_MPI_HYDRA_HOST_FILE", "value": "/etc/quartermaster/machinefile"},
    {"name": "PRTE_MCA_prte_default_hostfile", "value": HOSTFILE},
]
KEYS = {"name": "ssh", "secret": {"secretName": "lane-124a67dc90-ssh-keys", "defaultMode": 0o400}}
AT_KEYS = {"name": "ssh", "mountPath": "/etc/quartermaster", "readOnly": True}
MPIRUN = (
    "mpirun --allow-run-as-root -bind-to none -map-by slot -hostfile /etc/quartermaster/hostfile"
    " -np 3"
    " -x LD_LIBRARY_PATH -x PATH -x USE_WORKERS -x TOKEN python train.py"
)


def manifest(spec: RunSpec) -> dict[str, Any]:
    """The MPIJob of a run of this spec."""
    return MpiKind().manifest(run(spec=to_row(spec)), INSTALLATION)


def command_of(job: dict[str, Any], role: str) -> list[str]:
    """What the containers of a role run."""
    pods = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    return words_of(pods["containers"][0])


def taken_commands(job: dict[str, Any]) -> dict[str, list[str]]:
    """What the containers of both roles run but for our own text, taken out of the MPIJob."""
    words = {role: command_of(job, role) for role in ("Launcher", "Worker")}
    for role in words:
        del job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]["command"]
    return {role: [*each[:2], *each[3:]] for role, each in words.items()}


def template(container: dict[str, Any], volumes: list[Any], **more: str) -> dict[str, Any]:
    """A pod of the run."""
    return {
        "metadata": {"labels": LABELS | more, "annotations": NAMED},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [
                {"name": "main", "image": IMAGE, "env": [UNBUFFERED, *ENV], **container}
            ],
            "volumes": volumes,
        },
    }


def test_a_run_becomes_launcher_and_workers() -> None:
    large = {"cpu": "8", "memory": "72Gi", "nvidia.com/gpu": "1"}
    small = {"cpu": "1", "memory": "2Gi"}
    launcher = {
        "resources": {"requests": small, "limits": {"memory": "2Gi"}},
        "volumeMounts": [AT_MNT, AT_KEYS],
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}, UNBUFFERED, *HOSTS, *ENV],
    }
    worker = {
        "resources": {"requests": large, "limits": {"memory": "72Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}, AT_MNT, AT_KEYS],  # noqa: S108 - a mount in a pod
    }
    shared = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    launching = template(launcher, [DATA, KEYS], **{"quartermaster.dev/role": "launcher"})
    job = manifest(SPEC)
    taken_commands(job)
    assert job == {
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
                "Worker": {"replicas": 3, "template": template(worker, [shared, DATA, KEYS])},
            },
        },
    }


def test_both_begin_with_a_shell_of_ours() -> None:
    assert taken_commands(manifest(SPEC)) == {
        "Launcher": ["/bin/sh", "-c", "mpi", *MPIRUN.split()],
        "Worker": ["/bin/sh", "-c", "mpi"],
    }


def test_the_gpus_of_all_workers_count() -> None:
    assert gpus_of(replace(SPEC, gpus=Decimal(2))) == 6


@pytest.mark.parametrize(
    ("gpus", "processes", "ranks"), [(1, None, "3"), (4, None, "12"), (4, 2, "6"), (0, None, "3")]
)
def test_ranks_are_processes_of_all_nodes(gpus: int, processes: int | None, ranks: str) -> None:
    spec = replace(SPEC, gpus=Decimal(gpus), processes=processes)
    command = launch_command(spec, HOSTFILE)
    assert command[command.index("-np") + 1] == ranks


@pytest.mark.parametrize(
    "command",
    [
        ("mpirun", "-np", "2", "a.out"),
        ("/usr/bin/horovodrun",),
        ("bash", "-c", "cd /netapp && mpirun -np 2 a.out"),
        ("env", "A=1", "uv", "run", "mpiexec", "a.out"),
        ("deepspeed", "-H", "/job/hosts", "train.py"),
        ("bash", "-c", "deepspeed --hostfile $QUARTERMASTER_HOSTFILE train.py"),
        ("sh", "-c", "python run.py --nodes=$QUARTERMASTER_HOSTS --port=22122"),
        (),
    ],
)
def test_a_launcher_of_ones_own_stays(command: tuple[str, ...]) -> None:
    assert launch_command(replace(SPEC, command=command), HOSTFILE) == command


@pytest.mark.parametrize("command", [("bash", "-c", "python train.py"), ("train", "mpirun")])
def test_other_commands_run_under_mpirun(command: tuple[str, ...]) -> None:
    assert launch_command(replace(SPEC, command=command), HOSTFILE)[0] == "mpirun"


def test_deepspeed_is_told_the_hosts() -> None:
    spec = replace(SPEC, command=("env", "A=1", "deepspeed", "train.py"))
    said = ("env", "A=1", "deepspeed", "--hostfile", HOSTFILE, "train.py")
    assert launch_command(spec, HOSTFILE) == said


def test_an_image_of_the_operators_launches_itself() -> None:
    job = manifest(replace(SPEC, command=()))
    for role in ("Launcher", "Worker"):
        pods = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
        assert "command" not in pods["containers"][0]
        assert "ssh" not in [each["name"] for each in pods["volumes"]]
    assert MpiKind().dependents(run(spec=to_row(replace(SPEC, command=())))) == ()


def test_the_workers_are_listed_by_their_names() -> None:
    (keys,) = MpiKind().dependents(run(spec=to_row(replace(SPEC, processes=2))))
    data = {name: b64decode(text).decode() for name, text in keys.body()["data"].items()}
    assert data["hostfile"] == "".join(f"{name} slots=2\n" for name in WORKERS)
    assert data["machinefile"] == "".join(f"{name}:2\n" for name in WORKERS)


def test_only_the_launcher_speaks_for_it() -> None:
    launcher: Pod = pod(labels={"quartermaster.dev/role": "launcher"})
    worker: Pod = pod(labels={})
    assert MpiKind().log_pods([worker, launcher]) == [launcher]


def test_it_fits_the_operators_schema() -> None:
    fits_custom(manifest(SPEC), "mpijobs.kubeflow.org", "v2beta1")


def test_the_operator_takes_the_job() -> None:
    assert mpi_causes(manifest(SPEC)) == []
