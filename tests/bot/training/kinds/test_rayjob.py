"""The RayJob of a run, and what its status says."""

import shlex
import subprocess
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bot.cluster.api.answers import decode
from bot.cluster.types.objects import Pod
from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.errors import ConflictError, UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.failures import failure_of
from bot.training.kinds import gpus_of, gpus_of_pod
from bot.training.kinds.kind import Site
from bot.training.kinds.rayjob import COMMAND, RAY_JOB, RayJobKind
from bot.training.kinds.status import Progress, WorkloadStatus
from bot.training.spec import RunSpec, Security, to_row
from bot.training.state import state_of
from playground.cluster.operators.ray_job_rules import ray_job_fault
from tests.bot.ground import ALICE, INSTALLATION, START
from tests.bot.training.objects import RUN_ID, pod, run, stamp, stamped
from tests.bot.training.rig import IMAGE
from tests.schemas import fits_custom

SPEC = RunSpec(
    kind="rayjob",
    nodes=3,
    image=IMAGE,
    command=("python", "tune.py", "--epochs", "3"),
    gpus=Decimal(2),
    cpu="16",
    memory="128Gi",
    shm="16Gi",
    env=(EnvironmentVariable("TRIALS", "8"),),
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
NO_GPUS = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
ENV = [
    {"name": "TRIALS", "value": "8"},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
]
DATA = {"name": "claim-0", "persistentVolumeClaim": {"claimName": "tusimple"}}
AT_MNT = {"name": "claim-0", "mountPath": "/mnt", "readOnly": False}
AT_SHM = {"name": "dshm", "mountPath": "/dev/shm"}  # noqa: S108 - a mount in a pod
SHM = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
FAILED = (
    "Job entrypoint command failed with exit code 3, last available logs (truncated to 20,000"
    " chars):\nTraceback"
)


def manifest(**changes: Any) -> dict[str, Any]:
    """The RayJob of a run, with changes to its spec."""
    return RayJobKind().manifest(run(spec=to_row(replace(SPEC, **changes))), INSTALLATION)


def template(role: str, amounts: dict[str, str], **more: Any) -> dict[str, Any]:
    """A pod of the run."""
    limits = {name: amount for name, amount in amounts.items() if name != "cpu"}
    container = {
        "name": "main",
        "image": IMAGE,
        "env": more.get("env", []),
        "resources": {"requests": amounts, "limits": limits},
        "volumeMounts": more.get("mounts", []),
    }
    return {
        "metadata": {"labels": LABELS | {"quartermaster.dev/role": role}, "annotations": NAMED},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": more.get("volumes", []),
        },
    }


def status(**fields: Any) -> WorkloadStatus:
    """What is read from a RayJob with this status, which may be tried three times."""
    spec = {"suspend": False, "backoffLimit": 2}
    body = msgspec.json.encode({"spec": spec, "status": fields})
    return RAY_JOB.status(decode(body, RAY_JOB.resource.type, "Reading"))


def ray_cluster() -> dict[str, Any]:
    """The Ray cluster of the run."""
    head = template(
        "head",
        {"cpu": "2", "memory": "8Gi"},
        env=[NO_GPUS, UNBUFFERED, *ENV],
        mounts=[AT_MNT],
        volumes=[DATA],
    )
    worker = template(
        "worker",
        {"cpu": "16", "memory": "144Gi", "nvidia.com/gpu": "2"},
        env=[UNBUFFERED, *ENV],
        mounts=[AT_SHM, AT_MNT],
        volumes=[SHM, DATA],
    )
    workers = {
        "groupName": "workers",
        "replicas": 3,
        "minReplicas": 3,
        "maxReplicas": 3,
        "rayStartParams": {},
        "template": worker,
    }
    return {
        "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": head},
        "workerGroupSpecs": [workers],
    }


def test_a_run_becomes_a_ray_cluster() -> None:
    launcher = {"cpu": "500m", "memory": "1Gi"}
    assert manifest() == {
        "metadata": {
            "name": "lane-124a67dc90",
            "namespace": "team-a",
            "labels": LABELS,
            "annotations": NAMED,
        },
        "spec": {
            "suspend": True,
            "entrypoint": "python tune.py --epochs 3",
            "submissionMode": "K8sJobMode",
            "submitterPodTemplate": template("launcher", launcher, env=[NO_GPUS, UNBUFFERED]),
            "submitterConfig": {"backoffLimit": 0},
            "backoffLimit": 2,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": ray_cluster(),
            "activeDeadlineSeconds": 7200,
        },
    }


def test_it_fits_the_schema_of_kuberay() -> None:
    secured = Security(restricted=True, user=1000, group=1000, fs_group=1000)
    for made in (manifest(), manifest(security=secured, efa=1, time_limit_seconds=None)):
        fits_custom(made, "rayjobs.ray.io", "v1")
        assert ray_job_fault(made) == ""


def test_what_shells_change_is_in_a_variable() -> None:
    """Ray's command line makes one text of all words, with quotes only around blanks."""
    command = ("sh", "-c", "echo $((1+1)) 'a  b'; exit 3")
    body = manifest(command=command)["spec"]
    head = body["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    (told,) = [each["value"] for each in head["env"] if each["name"] == COMMAND]
    taken = subprocess.list2cmdline(shlex.split(body["entrypoint"]))
    assert taken == f"printenv {COMMAND} | sh"
    # What the kubelet makes of the variable: two dollars before a bracket are one.
    env = {COMMAND: told.replace("$$(", "$("), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(  # noqa: S602 - as Ray runs it
        taken, shell=True, env=env, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (3, "2 a  b\n")


def test_only_the_workers_have_gpus() -> None:
    assert gpus_of(SPEC) == 6
    parts = {
        role: gpus_of_pod(SPEC, pod(labels={"quartermaster.dev/role": role}))
        for role in ("head", "worker", "launcher")
    }
    assert parts == {"head": 0, "worker": 2, "launcher": 0}


def test_the_pod_that_submits_speaks_for_the_run() -> None:
    def of(role: str) -> Pod:
        return pod(labels={"quartermaster.dev/role": role})

    head, worker, launcher = of("head"), of("worker"), of("launcher")
    assert RayJobKind().log_pods([head, worker, launcher]) == [launcher]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, WorkloadStatus(attempts=3)),
        ({"jobDeploymentStatus": "Suspended"}, WorkloadStatus(attempts=3)),
        (
            {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "startTime": stamp(START)},
            WorkloadStatus(is_running=True, started_at=stamped(), attempts=3),
        ),
        (
            {"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"},
            WorkloadStatus(Progress.FINISHING, attempts=3),
        ),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": stamp(START)},
            WorkloadStatus(Progress.SUCCEEDED, ended_at=stamped(), attempts=3),
        ),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED", "message": "It was."},
            WorkloadStatus(Progress.FAILED, message="It was.", attempts=3),
        ),
        (
            {"jobDeploymentStatus": "Retrying", "failed": 1},
            WorkloadStatus(failed_pods=1, attempts=3),
        ),
        (
            {
                "jobDeploymentStatus": "Failed",
                "jobStatus": "FAILED",
                "reason": "AppFailed",
                "message": FAILED,
                "failed": 3,
            },
            WorkloadStatus(
                Progress.FAILED,
                "AppFailed",
                "Job entrypoint command failed with exit code 3",
                is_telling=True,
                failed_pods=3,
                attempts=3,
            ),
        ),
        (
            {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed"},
            WorkloadStatus(Progress.FAILED, "ValidationFailed", attempts=3),
        ),
    ],
)
def test_its_status_is_that_of_the_ray_job(
    fields: dict[str, Any], expected: WorkloadStatus
) -> None:
    assert status(**fields) == expected


def test_ray_says_why_it_failed_not_the_submitter() -> None:
    launcher = pod("Failed", ended={"exitCode": 1}, labels={"quartermaster.dev/role": "launcher"})
    failed = status(jobDeploymentStatus="Failed", reason="AppFailed", message=FAILED, failed=3)
    state = state_of(failed, None, [launcher], failure_of(launcher))
    assert state.reason == ("Job entrypoint command failed with exit code 3. This was attempt 3.")


def site(engine: str) -> Site:
    team = Team.model_validate({"namespace": "team-a", "queue": "team-a", "channels": ["C0TEAMA"]})
    runai = {
        "url": "https://acme.run.ai",
        "cluster_id": "71f69d83-ba66-4822-adf5-55ce55efd210",
        "client_id": "quartermaster",
        "client_secret_file": "/run/secrets/runai",
    }
    settings = {"engine": engine} | ({"runai": runai} if engine == "runai" else {})
    return Site(team, View(()), ClusterSettings.model_validate(settings), "team-a")


def test_it_needs_a_program_and_a_known_engine() -> None:
    kind = RayJobKind()
    kind.refuse(SPEC, site("kueue"))
    kind.refuse(SPEC, site("none"))
    with pytest.raises(UsageError) as refused:
        kind.refuse(replace(SPEC, command=()), site("kueue"))
    assert refused.value.hint == "Put it at the end: `-- python train.py`."
    for engine, name in (("kai", "KAI"), ("runai", "Run:ai")):
        with pytest.raises(ConflictError) as other:
            kind.refuse(SPEC, site(engine))
        assert other.value.message == (
            f"RayJobs run under Kueue or without a quota engine, and this cluster has {name}."
        )
