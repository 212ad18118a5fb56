"""Elastic runs as objects of Kubeflow's operators."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.errors import ClusterError, UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.kinds.kind import Site
from bot.training.kinds.pytorchjob import PyTorchJobKind
from bot.training.kinds.trainjob import TrainJobKind, earlier
from bot.training.spec import SHM_PATH, RunSpec, to_row
from playground.cluster.operators.catalogue import torch_runtime
from playground.cluster.operators.job_rules import torch_causes
from playground.cluster.operators.train_job_rules import train_causes
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.kinds.test_elastic import command_of
from tests.bot.training.objects import RUN_ID, pod, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits_custom

NAME = "lane-124a67dc90"
SPEC = RunSpec(
    kind="elastic",
    form="pytorchjob",
    nodes=3,
    nodes_range=(1, 3),
    image=IMAGE,
    command=("python", "train.py"),
    gpus=Decimal(2),
    cpu="16",
    memory="128Gi",
    shm="16Gi",
    env=(EnvironmentVariable("BATCH_SIZE", "33"),),
    secrets=(SecretReference("TOKEN", "hub", "token"),),
    mounts=(VolumeMount("data", "/data", read_only=True),),
    service_account="trainer",
    pull_secrets=("registry",),
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
METADATA = {"name": NAME, "namespace": "team-a", "labels": LABELS, "annotations": NAMED}
ENV = [
    {"name": "PYTHONUNBUFFERED", "value": "1"},
    {"name": "BATCH_SIZE", "value": "33"},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
]
INDEX = {
    "name": "QUARTERMASTER_INDEX",
    "valueFrom": {
        "fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}
    },
}
LARGE = {"memory": "144Gi", "nvidia.com/gpu": "2"}
RESOURCES = {"requests": {"cpu": "16", **LARGE}, "limits": LARGE}
MOUNTS = [
    {"name": "dshm", "mountPath": SHM_PATH},
    {"name": "claim-0", "mountPath": "/data", "readOnly": True},
]
VOLUMES = [
    {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
    {"name": "claim-0", "persistentVolumeClaim": {"claimName": "data"}},
]
OVERRIDE = {
    "metadata": {"labels": LABELS, "annotations": NAMED},
    "spec": {
        "volumes": VOLUMES,
        "serviceAccountName": "trainer",
        "imagePullSecrets": [{"name": "registry"}],
        "containers": [{"name": "node", "volumeMounts": MOUNTS}],
    },
}


def pytorch_job() -> dict[str, Any]:
    return PyTorchJobKind().manifest(run(spec=to_row(SPEC)), INSTALLATION)


def train_job(**more: Any) -> dict[str, Any]:
    spec = replace(SPEC, form="trainjob", nodes_range=None, **more)
    return TrainJobKind().manifest(run(spec=to_row(spec)), INSTALLATION)


def test_a_run_becomes_an_elastic_pytorch_job() -> None:
    container = {
        "name": "pytorch",
        "image": IMAGE,
        "env": [*ENV, INDEX],
        "resources": RESOURCES,
        "volumeMounts": MOUNTS,
    }
    template = {
        "metadata": {"labels": LABELS, "annotations": NAMED},
        "spec": {
            "automountServiceAccountToken": True,
            "serviceAccountName": "trainer",
            "imagePullSecrets": [{"name": "registry"}],
            "containers": [container],
            "volumes": VOLUMES,
        },
    }
    worker = {"replicas": 3, "restartPolicy": "OnFailure", "template": template}
    policy = {"rdzvBackend": "c10d", "rdzvId": NAME, "minReplicas": 1, "maxReplicas": 3}
    job = pytorch_job()
    (made,) = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert command_of(made) == ["torchrun", "train.py"]
    del made["command"]
    assert job == {
        "metadata": METADATA,
        "spec": {
            "elasticPolicy": {**policy, "maxRestarts": 10},
            "nprocPerNode": "2",
            "runPolicy": {
                "suspend": True,
                "cleanPodPolicy": "Running",
                "backoffLimit": 3,
                "ttlSecondsAfterFinished": 259200,
                "activeDeadlineSeconds": 7200,
            },
            "pytorchReplicaSpecs": {"Worker": worker},
        },
    }


def test_a_run_becomes_a_train_job() -> None:
    job = {"name": "node", "template": {"spec": {"template": OVERRIDE}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    made = train_job()
    assert command_of(made["spec"]["trainer"]) == ["torchrun", "train.py"]
    del made["spec"]["trainer"]["command"]
    assert made == {
        "metadata": METADATA,
        "spec": {
            "suspend": True,
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org",
                "kind": "ClusterTrainingRuntime",
                "name": "torch-distributed",
            },
            "trainer": {
                "numNodes": 3,
                "numProcPerNode": 2,
                "image": IMAGE,
                "env": ENV,
                "resourcesPerNode": RESOURCES,
            },
            "runtimePatches": [
                {"manager": "quartermaster.dev/manager", "trainingRuntimeSpec": runtime},
            ],
            "activeDeadlineSeconds": 7200,
        },
    }


def test_an_older_trainer_gets_overrides() -> None:
    refusal = ClusterError("it says: unknown field spec.runtimePatches", reason="BadRequest")
    older = earlier(train_job(), refusal)
    assert older is not None
    spec = older["spec"]
    assert spec["podTemplateOverrides"] == [{"targetJobs": [{"name": "node"}], **OVERRIDE}]
    assert set(spec) == {"suspend", "runtimeRef", "trainer", "podTemplateOverrides"}


def test_both_fit_the_operators_schemas() -> None:
    fits_custom(pytorch_job(), "pytorchjobs.kubeflow.org", "v1")
    fits_custom(train_job(), "trainjobs.trainer.kubeflow.org", "v1alpha1")
    fits_custom(
        train_job(command=(), shm="0", mounts=()), "trainjobs.trainer.kubeflow.org", "v1alpha1"
    )


def test_the_operators_webhooks_take_both() -> None:
    assert torch_causes(pytorch_job()) == []
    assert train_causes(train_job(), None, torch_runtime()) == []


def test_trainers_own_variables_are_refused() -> None:
    team = Team.model_validate({"namespace": "team-a", "queue": "team-a", "channels": ["C0TEAMA"]})
    site = Site(team, View(()), ClusterSettings(), "team-a")
    env = (EnvironmentVariable("PET_NNODES", "4"), EnvironmentVariable("BATCH_SIZE", "33"))
    with pytest.raises(UsageError) as refused:
        TrainJobKind().refuse(replace(SPEC, form="trainjob", env=env), site)
    assert "cannot set PET_NNODES: Kubeflow Trainer" in refused.value.message
    assert "--nodes 2 --processes 8" in refused.value.hint


def test_a_patch_changes_the_workers() -> None:
    nodes = PyTorchJobKind().root.nodes
    assert nodes is not None
    assert nodes.patch(2) == {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}


def test_the_first_of_the_workers_speaks() -> None:
    first = pod(labels={"training.kubeflow.org/replica-index": "0"})
    second = pod(labels={"training.kubeflow.org/replica-index": "1"})
    assert PyTorchJobKind().log_pods([second, first]) == [first]
    node = pod(labels={"batch.kubernetes.io/job-completion-index": "0"})
    assert TrainJobKind().log_pods([second, node]) == [node]
