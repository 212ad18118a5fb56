"""The Job of a test of the network between nodes."""

import subprocess
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.config import ClusterSettings
from bot.errors import UsageError
from bot.training.kinds import gpus_of
from bot.training.kinds.kind import Site
from bot.training.kinds.nccl import NcclKind
from bot.training.spec import RunSpec, to_row
from playground.cluster.control.expansion import words_of
from tests.bot.ground import INSTALLATION
from tests.bot.training.objects import RUN_ID, run
from tests.bot.training.rig import Rig
from tests.schemas import fits

PROGRAM = "/opt/nccl-tests/build/all_reduce_perf"
SPEC = RunSpec(
    kind="nccl",
    nodes=2,
    image="public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1",
    command=(PROGRAM, "-b", "8", "-e", "1G"),
    gpus=Decimal(8),
    efa=4,
    cpu="64",
    memory="512Gi",
)
ROW = run(spec=to_row(SPEC))
MPIRUN = (
    "mpirun --allow-run-as-root -bind-to none -map-by slot -hostfile /etc/quartermaster/hostfile"
    f" -np 16 -x LD_LIBRARY_PATH -x PATH -x NCCL_DEBUG -x NCCL_DEBUG_FILE {PROGRAM} -b 8 -e 1G"
)


def pod() -> dict[str, Any]:
    """The pods of the Job."""
    job = NcclKind().manifest(ROW, INSTALLATION)
    found: dict[str, Any] = job["spec"]["template"]["spec"]
    return found


def script() -> str:
    """What the first pod runs around the test."""
    return words_of(pod()["containers"][0])[6]


def test_the_test_runs_on_all_gpus() -> None:
    words = pod()["containers"][0]["command"]
    assert words[3:6] == ["sync", "/bin/sh", "-c"]
    assert words[7:] == ["nccl", *MPIRUN.split()]
    assert gpus_of(SPEC) == 16


def test_each_pod_has_a_node_alone() -> None:
    term = {
        "labelSelector": {"matchLabels": {"quartermaster.dev/run": RUN_ID}},
        "topologyKey": "kubernetes.io/hostname",
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    assert pod()["affinity"] == {"podAntiAffinity": rule}


def test_adapters_are_requested_whole() -> None:
    limits = pod()["containers"][0]["resources"]["limits"]
    assert (limits["vpc.amazonaws.com/efa"], limits["hugepages-2Mi"]) == ("4", "5120Mi")


@pytest.mark.parametrize("code", [0, 3])
def test_its_script_ends_as_the_test_does(code: int) -> None:
    ended = subprocess.run(
        ("/bin/sh", "-c", script(), "nccl", "/bin/sh", "-c", f"echo table; exit {code}"),
        capture_output=True,
        check=False,
        text=True,
    )
    assert (ended.stdout.splitlines()[0], ended.returncode) == ("table", code)


@pytest.mark.parametrize("gpus", [Decimal(0), Decimal("0.5")])
def test_parts_of_gpus_are_refused(gpus: Decimal, rig: Rig) -> None:
    site = Site(rig.policy.teams["team-a"], rig.cluster.view, ClusterSettings(), "team-a")
    with pytest.raises(UsageError) as refused:
        NcclKind().refuse(replace(SPEC, gpus=gpus), site)
    assert refused.value.message == "A network test uses whole GPUs on each node."


def test_its_objects_fit_the_kubernetes_schema() -> None:
    fits(NcclKind().manifest(ROW, INSTALLATION), "batch.v1.Job")
    for dependent in NcclKind().dependents(ROW):
        fits(dependent.body(), f"core.v1.{dependent.resource.kind}")
