"""The Job of a run."""

from decimal import Decimal
from typing import Any

import pytest

from bot.quotas.engines.kueue.runs import queued
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.kinds.job import JobKind
from bot.training.kinds.pods.template import object_name
from bot.training.queueing import queueing_of
from bot.training.spec import SHM_PATH, RunSpec, to_row
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.objects import RUN_ID, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits

SPEC = RunSpec(
    image=IMAGE,
    command=("python", "train.py", "--epochs", "3"),
    gpus=Decimal(2),
    cpu="16",
    memory="128Gi",
    shm="16Gi",
    env=(EnvironmentVariable("BATCH_SIZE", "33"), EnvironmentVariable("SPELL", "$(HOME)")),
    secrets=(SecretReference("WANDB_API_KEY", "wandb", "api-key"),),
    mounts=(
        VolumeMount("data", "/data", read_only=True),
        VolumeMount("out", "/out", read_only=False),
        VolumeMount("data", "/more", read_only=True),
    ),
    time_limit_seconds=7200,
    priority="high",
    code="acme/lane@3f2a9c1",
    service_account="trainer",
    pull_secrets=("registry",),
)
OURS = {
    "app.kubernetes.io/managed-by": "quartermaster",
    "quartermaster.dev/installation": INSTALLATION,
    "quartermaster.dev/run": RUN_ID,
    "quartermaster.dev/team": "team-a",
    "quartermaster.dev/person": ALICE,
}
SIGNED = {"quartermaster.dev/name": "lane", "quartermaster.dev/code": "acme/lane@3f2a9c1"}
POD = {
    "restartPolicy": "Never",
    "automountServiceAccountToken": True,
    "serviceAccountName": "trainer",
    "imagePullSecrets": [{"name": "registry"}],
    "containers": [
        {
            "name": "main",
            "image": IMAGE,
            "command": ["python", "train.py", "--epochs", "3"],
            "env": [
                {"name": "PYTHONUNBUFFERED", "value": "1"},
                {"name": "BATCH_SIZE", "value": "33"},
                {"name": "SPELL", "value": "$$(HOME)"},
                {
                    "name": "WANDB_API_KEY",
                    "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "api-key"}},
                },
            ],
            "resources": {
                "requests": {"cpu": "16", "memory": "144Gi", "nvidia.com/gpu": "2"},
                "limits": {"memory": "144Gi", "nvidia.com/gpu": "2"},
            },
            "volumeMounts": [
                {"name": "dshm", "mountPath": SHM_PATH},
                {"name": "claim-0", "mountPath": "/data", "readOnly": True},
                {"name": "claim-1", "mountPath": "/out", "readOnly": False},
                {"name": "claim-0", "mountPath": "/more", "readOnly": True},
            ],
        }
    ],
    "volumes": [
        {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        {"name": "claim-0", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "claim-1", "persistentVolumeClaim": {"claimName": "out"}},
    ],
}
POLICY = {
    "rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    ]
}


def manifest(spec: RunSpec) -> dict[str, Any]:
    """The Job of a run, as it is handed to the cluster."""
    row = run(spec=to_row(spec))
    return queued(JobKind().manifest(row, INSTALLATION), queueing_of(row))


def test_a_run_becomes_a_suspended_job() -> None:
    assert manifest(SPEC) == {
        "metadata": {
            "name": "lane-124a67dc90",
            "namespace": "team-a",
            "labels": {
                **OURS,
                "kueue.x-k8s.io/queue-name": "team-a",
                "kueue.x-k8s.io/priority-class": "high",
            },
            "annotations": SIGNED,
        },
        "spec": {
            "suspend": True,
            "backoffLimit": 2,
            "ttlSecondsAfterFinished": 259200,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": POLICY,
            "activeDeadlineSeconds": 7200,
            "template": {"metadata": {"labels": OURS, "annotations": SIGNED}, "spec": POD},
        },
    }


def test_a_run_may_buffer_its_output() -> None:
    buffered = EnvironmentVariable("PYTHONUNBUFFERED", "")
    spec = RunSpec(image=IMAGE, cpu="4", memory="16Gi", env=(buffered,))
    (container,) = manifest(spec)["spec"]["template"]["spec"]["containers"]
    told = [each["value"] for each in container["env"] if each["name"] == "PYTHONUNBUFFERED"]
    assert told == [""]


def test_a_plain_run_gets_no_account_token() -> None:
    spec = RunSpec(image=IMAGE, cpu="4", memory="16Gi", shm="0Gi")
    pod = manifest(spec)["spec"]["template"]["spec"]
    assert pod == {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "main",
                "image": IMAGE,
                "env": [
                    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
                    {"name": "PYTHONUNBUFFERED", "value": "1"},
                ],
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi"},
                    "limits": {"memory": "16Gi"},
                },
                "volumeMounts": [],
            }
        ],
        "volumes": [],
    }


def test_the_job_fits_the_kubernetes_schema() -> None:
    fits(manifest(SPEC), "batch.v1.Job")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lane", "lane-124a67dc90"),
        ("a" * 40, "a" * 30 + "-124a67dc90"),
        ("Größe 2", "gr-e-2-124a67dc90"),
        ("___", "run-124a67dc90"),
        ("3d-unet", "run-3d-unet-124a67dc90"),
        ("2" * 40, "run-" + "2" * 26 + "-124a67dc90"),
    ],
)
def test_job_names_derive_from_name_and_id(name: str, expected: str) -> None:
    assert object_name(name, RUN_ID) == expected
