"""The Job that launches, and the Deployment of workers, of a run without a quota engine."""

import subprocess
from base64 import b64decode
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.types.objects import Pod
from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.errors import UsageError
from bot.training.kinds import gpus_of
from bot.training.kinds.deployment import HOSTFILE, DeploymentKind
from bot.training.kinds.kind import Site
from bot.training.spec import Data, RunSpec, to_row
from playground.cluster.control.expansion import words_of
from tests.bot.ground import INSTALLATION
from tests.bot.training.kinds.test_sync import LABELS, NAMED
from tests.bot.training.objects import RUN_ID, pod, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits

SPEC = RunSpec(
    kind="sync",
    form="deployment",
    nodes=3,
    image=IMAGE,
    command=("python", "train.py"),
    gpus=Decimal(8),
    cpu="64",
    memory="512Gi",
    priority="high",
    time_limit_seconds=7200,
    host_network=True,
)
ROW = run(spec=to_row(SPEC))
ROLE = "quartermaster.dev/role"
MACHINEFILE = "/tmp/quartermaster/machinefile"  # noqa: S108 - in the container of one run
MPIRUN = (
    "mpirun --allow-run-as-root -bind-to none -map-by slot -hostfile /tmp/quartermaster/hostfile"
    " -np 24 -x LD_LIBRARY_PATH -x PATH python train.py"
)
POD = {
    "restartPolicy": "Never",
    "automountServiceAccountToken": False,
    "containers": [
        {
            "name": "main",
            "image": IMAGE,
            "env": [
                {
                    "name": "QUARTERMASTER_ADDRESS",
                    "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
                },
                {"name": "QUARTERMASTER_DOMAIN", "value": "hosts-lane-124a67dc90"},
                {"name": "QUARTERMASTER_NODES", "value": "3"},
                {"name": "QUARTERMASTER_SLOTS", "value": "8"},
                {"name": "QUARTERMASTER_HOSTFILE", "value": HOSTFILE},
                {"name": "HYDRA_HOST_FILE", "value": MACHINEFILE},
                {"name": "I_MPI_HYDRA_HOST_FILE", "value": MACHINEFILE},
                {"name": "OMPI_MCA_orte_default_hostfile", "value": HOSTFILE},
                {"name": "PRTE_MCA_prte_default_hostfile", "value": HOSTFILE},
                {"name": "PYTHONUNBUFFERED", "value": "1"},
            ],
            "resources": {
                "requests": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"},
                "limits": {"memory": "512Gi", "nvidia.com/gpu": "8"},
            },
            "volumeMounts": [{"name": "ssh", "mountPath": "/etc/quartermaster", "readOnly": True}],
            "ports": [{"name": "ssh", "containerPort": 22122}],
        }
    ],
    "volumes": [
        {"name": "ssh", "secret": {"secretName": "lane-124a67dc90-ssh", "defaultMode": 0o400}},
    ],
    "hostNetwork": True,
    "dnsPolicy": "ClusterFirstWithHostNet",
}


def manifest() -> dict[str, Any]:
    """The Job of the run."""
    return DeploymentKind().manifest(ROW, INSTALLATION)


def workers() -> dict[str, Any]:
    """The Deployment of the run."""
    return DeploymentKind().dependents(ROW)[2].body()


def taken_command(pod_spec: dict[str, Any]) -> list[str]:
    """What a container runs, which is taken out."""
    words = words_of(pod_spec["containers"][0])
    del pod_spec["containers"][0]["command"]
    return words


def test_a_job_launches_on_its_own_node() -> None:
    job = manifest()
    words = taken_command(job["spec"]["template"]["spec"])
    assert (words[:2], words[3:]) == (["/bin/sh", "-c"], ["sync", *MPIRUN.split()])
    assert job == {
        "metadata": {
            "name": "lane-124a67dc90",
            "namespace": "team-a",
            "labels": LABELS,
            "annotations": NAMED,
        },
        "spec": {
            "suspend": True,
            "backoffLimit": 2,
            "ttlSecondsAfterFinished": 259200,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [78]}},
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    },
                ]
            },
            "template": {
                "metadata": {"labels": {**LABELS, ROLE: "launcher"}, "annotations": NAMED},
                "spec": POD,
            },
            "activeDeadlineSeconds": 7200,
        },
    }


def test_workers_serve_on_the_other_nodes() -> None:
    body = workers()
    words = taken_command(body["spec"]["template"]["spec"])
    assert (words[:2], words[3:]) == (["/bin/sh", "-c"], ["sync"])
    mine = {"quartermaster.dev/run": RUN_ID, ROLE: "worker"}
    assert body == {
        "spec": {
            "replicas": 2,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": mine},
            "template": {
                "metadata": {"labels": mine},
                "spec": {**POD, "restartPolicy": "Always", "priorityClassName": "high"},
            },
        }
    }


def test_its_service_tells_the_addresses_of_all() -> None:
    secret, service, deployment = DeploymentKind().dependents(ROW)
    named = [(each.resource.kind, each.name) for each in (secret, service, deployment)]
    assert named == [
        ("Secret", "lane-124a67dc90-ssh"),
        ("Service", "hosts-lane-124a67dc90"),
        ("Deployment", "lane-124a67dc90-workers"),
    ]
    assert service.body()["spec"]["selector"] == {"quartermaster.dev/run": RUN_ID}
    assert "ssh_config" in {name: b64decode(text) for name, text in secret.body()["data"].items()}


def test_the_gpus_of_launcher_and_workers_count() -> None:
    assert gpus_of(SPEC) == 24


def test_both_shell_scripts_can_be_read() -> None:
    for spec in (manifest()["spec"], workers()["spec"]):
        script = taken_command(spec["template"]["spec"])[2]
        subprocess.run(("/bin/sh", "-n", "-c", script), check=True)


def test_launcher_and_workers_read_the_same_data() -> None:
    data = (Data(reference="chest-xray@v3", path="/data", claim="shared", folder="ready/files"),)
    row = run(spec=to_row(replace(SPEC, data=data)))
    job = DeploymentKind().manifest(row, INSTALLATION)
    deployment = DeploymentKind().dependents(row)[2].body()
    for body in (job, deployment):
        pod_spec = body["spec"]["template"]["spec"]
        claim = {"claimName": "shared", "readOnly": True}
        assert {"name": "data-0", "persistentVolumeClaim": claim} in pod_spec["volumes"]
        assert pod_spec["containers"][0]["volumeMounts"][0] == {
            "name": "data-0",
            "mountPath": "/data",
            "subPath": "ready/files",
            "readOnly": True,
        }


def test_only_the_launcher_speaks_for_it() -> None:
    pods: list[Pod] = [pod(name=role, labels={ROLE: role}) for role in ("worker", "launcher")]
    assert DeploymentKind().log_pods(pods) == [pods[1]]


def test_its_objects_fit_the_kubernetes_schema() -> None:
    fits(manifest(), "batch.v1.Job")
    secret, service, deployment = DeploymentKind().dependents(ROW)
    for dependent in (secret, service):
        fits(dependent.body(), f"core.v1.{dependent.resource.kind}")
    fits(deployment.body(), "apps.v1.Deployment")


@pytest.mark.parametrize(
    ("engine", "change", "said"),
    [
        (
            "kai",
            {},
            (
                "`--form deployment` of `--kind sync` would be admitted in two parts, workers and"
                " launcher, and two such runs can each hold the GPUs that the other waits for."
                " Leave `--form` out: launcher and workers are then one Job, admitted as a whole."
            ),
        ),
        (
            "none",
            {"nodes": 1},
            (
                "`--form deployment` runs a launcher on one node and workers on others."
                " Give the total number of nodes, for example `--nodes 2`."
            ),
        ),
        (
            "none",
            {"host_network": False},
            (
                "The pods of `--form deployment` find each other by the addresses of their nodes."
                " Add `--host-network`, or leave `--form` out: the run then has a network of its"
                " own."
            ),
        ),
        (
            "none",
            {"command": ()},
            (
                "`--kind sync` needs the command that runs on every node."
                " Put it at the end: `-- python train.py`."
            ),
        ),
    ],
)
def test_what_cannot_be_is_refused(engine: str, change: dict[str, Any], said: str) -> None:
    team = Team.model_validate({"namespace": "team-a", "queue": "team-a", "channels": ["C0TEAMA"]})
    site = Site(team, View(()), ClusterSettings.model_validate({"engine": engine}), "team-a")
    with pytest.raises(UsageError) as refused:
        DeploymentKind().refuse(replace(SPEC, **change), site)
    assert f"{refused.value.message} {refused.value.hint}" == said


def test_workers_run_a_command_of_their_own() -> None:
    serve = ("bash", "/netapp/scripts/start-slave-multi.sh", "22122")
    row = run(spec=to_row(replace(SPEC, worker_command=serve, launcher="none")))
    workers = DeploymentKind().dependents(row)[2].body()["spec"]["template"]["spec"]
    words = words_of(workers["containers"][0])
    assert (words[:2], words[3:]) == (["/bin/sh", "-c"], ["sync", *serve])
    job = DeploymentKind().manifest(row, INSTALLATION)
    launcher = words_of(job["spec"]["template"]["spec"]["containers"][0])
    assert launcher[3:] == ["sync", "python", "train.py"]
    assert "sshd" not in launcher[2] + words[2]
