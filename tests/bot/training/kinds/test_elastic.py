"""The Job and the Service of an elastic run."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.cluster.resources import SERVICES
from bot.quotas.engines.engine import QueueingSpec
from bot.quotas.engines.kueue.runs import queued
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds import gpus_of
from bot.training.kinds.elastic import ElasticKind, launch_command
from bot.training.queueing import queueing_of
from bot.training.spec import SHM_PATH, RunSpec, to_row
from playground.cluster.control.expansion import words_of
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.objects import RUN_ID, pod, run
from tests.bot.training.rig import IMAGE
from tests.schemas import fits

NAME = "lane-124a67dc90"
SPEC = RunSpec(
    kind="elastic",
    nodes=3,
    nodes_range=(1, 3),
    image=IMAGE,
    command=("python", "train.py", "--epochs", "3"),
    gpus=Decimal(8),
    cpu="64",
    memory="512Gi",
    shm="64Gi",
    efa=4,
    env=(EnvironmentVariable("FI_PROVIDER", "efa"),),
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
LARGE = {
    "memory": "576Gi",
    "nvidia.com/gpu": "8",
    "vpc.amazonaws.com/efa": "4",
    "hugepages-2Mi": "5120Mi",
}
CONTAINER = {
    "name": "main",
    "image": IMAGE,
    "env": [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "FI_PROVIDER", "value": "efa"},
        {"name": "PET_NNODES", "value": "1:3"},
        {"name": "PET_NPROC_PER_NODE", "value": "8"},
        {"name": "PET_MAX_RESTARTS", "value": "10"},
        {"name": "PET_RDZV_ID", "value": NAME},
        {"name": "PET_RDZV_BACKEND", "value": "c10d"},
        {"name": "PET_RDZV_ENDPOINT", "value": f"{NAME}-0.hosts-{NAME}:29400"},
    ],
    "resources": {"requests": {"cpu": "64", **LARGE}, "limits": LARGE},
    "volumeMounts": [{"name": "dshm", "mountPath": SHM_PATH}],
}


POLICY = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [78]}},
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        },
    ]
}


def manifest(spec: RunSpec = SPEC) -> dict[str, Any]:
    """The Job of a run of this spec."""
    return ElasticKind().manifest(run(spec=to_row(spec)), INSTALLATION)


def service() -> dict[str, Any]:
    """The Service of a run."""
    (dependent,) = ElasticKind().dependents(run(spec=to_row(SPEC)))
    assert (dependent.resource, dependent.name, dependent.is_first) == (
        SERVICES,
        f"hosts-{NAME}",
        False,
    )
    return {"metadata": {"name": dependent.name}, **dependent.body()}


def command_of(container: dict[str, Any]) -> list[str]:
    """What a container runs behind our shell; none of our own text."""
    shell, option, _, name, *words = words_of(container)
    assert (shell, option, name) == ("/bin/sh", "-c", "elastic")
    return words


def test_a_run_becomes_an_indexed_job() -> None:
    job = manifest()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert command_of(container) == ["torchrun", "train.py", "--epochs", "3"]
    del container["command"]
    assert job == {
        "metadata": {
            "name": NAME,
            "namespace": "team-a",
            "labels": LABELS,
            "annotations": NAMED,
        },
        "spec": {
            "suspend": True,
            "completionMode": "Indexed",
            "completions": 3,
            "parallelism": 3,
            "backoffLimitPerIndex": 3,
            "maxFailedIndexes": 1,
            "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
            "ttlSecondsAfterFinished": 259200,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": POLICY,
            "activeDeadlineSeconds": 7200,
            "template": {
                "metadata": {"labels": LABELS, "annotations": NAMED},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "subdomain": f"hosts-{NAME}",
                    "containers": [CONTAINER],
                    "volumes": [
                        {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
                    ],
                },
            },
        },
    }


def test_its_pods_find_each_other_by_name() -> None:
    assert service()["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"quartermaster.dev/run": RUN_ID},
    }


def test_both_fit_the_kubernetes_schema() -> None:
    fits(manifest(), "batch.v1.Job")
    fits(service(), "core.v1.Service")


def test_kueue_is_told_that_it_may_change() -> None:
    given = queueing_of(run(spec=to_row(SPEC)))
    assert given == QueueingSpec("team-a", None, Decimal(8), pods=3, least=1)
    assert queued(manifest(), given)["metadata"]["annotations"] == {
        **NAMED,
        "kueue.x-k8s.io/elastic-job": "true",
    }


def test_the_gpus_of_all_nodes_count() -> None:
    assert gpus_of(SPEC) == 24


@pytest.mark.parametrize(
    ("allowed", "lost"), [((1, 3), 1), ((2, 3), 1), ((3, 3), 0), ((1, 1), 0), ((4, 6), 2)]
)
def test_no_more_nodes_are_lost_than_can_be(allowed: tuple[int, int], lost: int) -> None:
    spec = replace(SPEC, nodes=allowed[1], nodes_range=allowed)
    assert manifest(spec)["spec"]["maxFailedIndexes"] == lost


@pytest.mark.parametrize(
    ("gpus", "processes", "told"), [(8, None, "8"), (8, 2, "2"), (0, None, "1")]
)
def test_each_gpu_has_its_process(gpus: int, processes: int | None, told: str) -> None:
    container = manifest(replace(SPEC, gpus=Decimal(gpus), processes=processes))
    env = container["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "PET_NPROC_PER_NODE", "value": told} in env


def test_a_rendezvous_of_ones_own_stays() -> None:
    own = EnvironmentVariable("PET_RDZV_BACKEND", "etcd-v2")
    container = manifest(replace(SPEC, env=(own,)))["spec"]["template"]["spec"]["containers"][0]
    told = [each["value"] for each in container["env"] if each["name"] == own.name]
    assert told == ["etcd-v2"]


@pytest.mark.parametrize(
    ("command", "launched"),
    [
        ("python train.py --lr 1", "torchrun train.py --lr 1"),
        ("python -u train.py", "torchrun train.py"),
        ("/opt/conda/bin/python3.12 train.py",
         "/opt/conda/bin/python3.12 -m torch.distributed.run train.py"),
        ("python -m acme.train", "torchrun -m acme.train"),
        ("python -X dev train.py", "torchrun --no_python python -X dev train.py"),
        ("python", "torchrun --no_python python"),
        ("./train.py", "torchrun ./train.py"),
        ("bash run.sh", "torchrun --no_python bash run.sh"),
        ("env A=1 python train.py", "env A=1 torchrun train.py"),
        ("env A=1", "torchrun --no_python env A=1"),
        ("uv run train.py", "uv run torchrun train.py"),
        ("uv run -m acme.train", "uv run torchrun -m acme.train"),
        ("conda run -n lane python -u train.py", "conda run -n lane torchrun train.py"),
        ("poetry run acme-train", "poetry run torchrun --no_python acme-train"),
        ("torchrun --max-restarts 3 train.py", "torchrun --max-restarts 3 train.py"),
        ("env A=1 torchrun train.py", "env A=1 torchrun train.py"),
        ("/usr/bin/accelerate launch train.py", "/usr/bin/accelerate launch train.py"),
        ("python -m torch.distributed.run a.py", "python -m torch.distributed.run a.py"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_command_is_launched_on_each_node(command: str, launched: str) -> None:
    spec = replace(SPEC, command=tuple(command.split()))
    assert launch_command(spec) == tuple(launched.split())


def test_no_torchrun_starts_within_another() -> None:
    own = ("bash", "-c", "cd /app && torchrun train.py")
    assert launch_command(replace(SPEC, command=own)) == own
    plain = ("bash", "-c", "cd /app && python train.py")
    launched = launch_command(replace(SPEC, command=plain))
    assert launched == ("torchrun", "--no_python", *plain)


def test_the_first_node_speaks_for_it() -> None:
    first = pod(labels={"batch.kubernetes.io/job-completion-index": "0"})
    second = pod(labels={"batch.kubernetes.io/job-completion-index": "1"})
    assert ElasticKind().log_pods([second, first]) == [first]
