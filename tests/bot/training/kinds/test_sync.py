"""The Job, the Secret and the Service of a run with a launcher and workers."""

import subprocess
from base64 import b64decode
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.types.objects import Pod
from bot.slack.grammar.container_parameters import EnvironmentVariable, VolumeMount
from bot.training.kinds import gpus_of
from bot.training.kinds.sync import SyncKind
from bot.training.spec import RunSpec, to_row
from bot.training.tables import Run
from playground.cluster.control.expansion import words_of
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.objects import RUN_ID, pod, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits

SPEC = RunSpec(
    kind="sync",
    nodes=2,
    image=IMAGE,
    command=("python", "train.py"),
    gpus=Decimal(8),
    cpu="64",
    memory="512Gi",
    env=(EnvironmentVariable("USE_WORKERS", "true"),),
    mounts=(VolumeMount("imagenet", "/data", read_only=True),),
    time_limit_seconds=7200,
)
ROW = run(spec=to_row(SPEC))
LABELS = {
    "app.kubernetes.io/managed-by": "quartermaster",
    "quartermaster.dev/installation": INSTALLATION,
    "quartermaster.dev/run": RUN_ID,
    "quartermaster.dev/team": "team-a",
    "quartermaster.dev/person": ALICE,
}
NAMED = {"quartermaster.dev/name": "lane"}
HOSTS = [f"lane-124a67dc90-{index}.hosts-lane-124a67dc90" for index in (0, 1)]
HOSTFILE = "/etc/quartermaster/hostfile"
MPIRUN = (
    f"mpirun --allow-run-as-root -bind-to none -map-by slot -hostfile {HOSTFILE} -np 16"
    " -x LD_LIBRARY_PATH -x PATH -x USE_WORKERS python train.py"
)
ENV = [
    {"name": "PYTHONUNBUFFERED", "value": "1"},
    {"name": "QUARTERMASTER_HOSTS", "value": ",".join(HOSTS)},
    {"name": "QUARTERMASTER_HOSTFILE", "value": HOSTFILE},
    {"name": "HYDRA_HOST_FILE", "value": "/etc/quartermaster/machinefile"},
    {"name": "I_MPI_HYDRA_HOST_FILE", "value": "/etc/quartermaster/machinefile"},
    {"name": "OMPI_MCA_orte_default_hostfile", "value": HOSTFILE},
    {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "true"},
    {"name": "PRTE_MCA_prte_default_hostfile", "value": HOSTFILE},
    {"name": "USE_WORKERS", "value": "true"},
]
POD = {
    "restartPolicy": "Never",
    "automountServiceAccountToken": False,
    "subdomain": "hosts-lane-124a67dc90",
    "containers": [
        {
            "name": "main",
            "image": IMAGE,
            "env": ENV,
            "resources": {
                "requests": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"},
                "limits": {"memory": "512Gi", "nvidia.com/gpu": "8"},
            },
            "volumeMounts": [
                {"name": "claim-0", "mountPath": "/data", "readOnly": True},
                {"name": "ssh", "mountPath": "/etc/quartermaster", "readOnly": True},
            ],
            "ports": [{"name": "ssh", "containerPort": 22122}],
        }
    ],
    "volumes": [
        {"name": "claim-0", "persistentVolumeClaim": {"claimName": "imagenet"}},
        {"name": "ssh", "secret": {"secretName": "lane-124a67dc90-ssh", "defaultMode": 0o400}},
    ],
}


def manifest(row: Run = ROW) -> dict[str, Any]:
    """The Job of a run."""
    return SyncKind().manifest(row, INSTALLATION)


def command_of(job: dict[str, Any]) -> list[str]:
    """What its containers run."""
    return words_of(job["spec"]["template"]["spec"]["containers"][0])


def files(row: Run = ROW) -> dict[str, str]:
    """What the Secret of a run gives its pods."""
    body = SyncKind().dependents(row)[0].body()
    return {name: b64decode(text).decode() for name, text in body["data"].items()}


def test_a_run_becomes_one_indexed_job() -> None:
    job = manifest()
    words = command_of(job)
    del job["spec"]["template"]["spec"]["containers"][0]["command"]
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
            "completionMode": "Indexed",
            "completions": 2,
            "parallelism": 2,
            "successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
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
            "activeDeadlineSeconds": 7200,
            "template": {"metadata": {"labels": LABELS, "annotations": NAMED}, "spec": POD},
        },
    }


def test_the_gpus_of_all_nodes_count() -> None:
    assert gpus_of(SPEC) == 16


def test_pods_have_names_before_they_answer() -> None:
    secret, service = SyncKind().dependents(ROW)
    assert (secret.resource.kind, secret.name) == ("Secret", "lane-124a67dc90-ssh")
    assert (service.resource.kind, service.name) == ("Service", "hosts-lane-124a67dc90")
    assert service.body() == {
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"quartermaster.dev/run": RUN_ID},
        }
    }


def test_the_hosts_are_listed_with_their_slots() -> None:
    assert files()["hostfile"] == "".join(f"{name} slots=8\n" for name in HOSTS)
    two = run(spec=to_row(replace(SPEC, processes=2)))
    assert files(two)["hostfile"] == "".join(f"{name} slots=2\n" for name in HOSTS)


def test_every_run_has_keys_of_its_own(tmp_path: Path) -> None:
    mine, other = files(), files()
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text(mine["key"])
    derived = subprocess.run(
        ("/usr/bin/ssh-keygen", "-y", "-f", str(key)), capture_output=True, check=True, text=True
    )
    assert derived.stdout.split() == mine["key.pub"].split()
    assert mine["known_hosts"] == f"* {mine['key.pub']}"
    assert mine["key"] != other["key"]


def test_no_key_is_in_the_job() -> None:
    text = str(manifest())
    assert "ssh-ed25519" not in text
    assert "PRIVATE" not in text


def test_its_shell_script_can_be_read() -> None:
    words = command_of(manifest())
    subprocess.run(("/bin/sh", "-n", "-c", words[2]), check=True)


def test_only_the_first_pod_speaks_for_it() -> None:
    pods: list[Pod] = [
        pod(name=f"lane-{index}", labels={"batch.kubernetes.io/job-completion-index": index})
        for index in ("1", "0")
    ]
    assert SyncKind().log_pods(pods) == [pods[1]]


def test_its_objects_fit_the_kubernetes_schema() -> None:
    fits(manifest(), "batch.v1.Job")
    open_spec = replace(SPEC, host_network=True, privileged=True)
    fits(manifest(run(spec=to_row(open_spec))), "batch.v1.Job")
    for dependent in SyncKind().dependents(ROW):
        fits(dependent.body(), f"core.v1.{dependent.resource.kind}")


@pytest.mark.parametrize("command", [("horovodrun", "-np", "16", "python", "train.py")])
def test_a_launcher_of_ones_own_has_the_hosts(command: tuple[str, ...]) -> None:
    job = manifest(run(spec=to_row(replace(SPEC, command=command))))
    assert command_of(job)[3:] == ["sync", *command]


def test_workers_run_a_command_of_their_own() -> None:
    serve = ("bash", "/netapp/scripts/start-slave-multi.sh", "22122")
    job = manifest(run(spec=to_row(replace(SPEC, worker_command=serve, launcher="none"))))
    words = command_of(job)
    assert words[3:] == ["sync", "python", "train.py"]
    others = 'if [ "$JOB_COMPLETION_INDEX" != 0 ]; then exec '
    assert f"{others}bash /netapp/scripts/start-slave-multi.sh 22122; fi" in words[2]
    assert "sshd" not in words[2]
