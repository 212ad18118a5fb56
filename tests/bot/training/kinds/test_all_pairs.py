"""The program that measures all pairs of nodes, run with a stand-in for mpirun and the test."""

import subprocess
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.config import ClusterSettings
from bot.errors import UsageError
from bot.training.kinds.kind import Site
from bot.training.kinds.nccl import AllPairsKind
from bot.training.logs.pairs import PairSpeeds, read_pairs
from bot.training.spec import RunSpec, to_row
from playground.cluster.control.expansion import words_of
from tests.bot.ground import INSTALLATION
from tests.bot.training.objects import run
from tests.bot.training.rig import Rig
from tests.schemas import fits

SPEC = RunSpec(
    kind="nccl",
    form="all-pairs",
    nodes=4,
    image="public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1",
    command=("all_reduce_perf", "-b", "8", "-e", "1G"),
    gpus=Decimal(8),
    cpu="64",
    memory="512Gi",
)
ROW = run(spec=to_row(SPEC))
# Tells the speed of a pair from the file `slow`, with a line `h1 h3 5.1` for each slow pair, and
# keeps what it was called with. A speed of `fails` is no speed.
MPIRUN = """\
#!/bin/sh
while [ "$1" != -hostfile ]; do shift; done
set -- $(cut -d " " -f 1 "$2") -- "$@"
echo "$*" >> calls
if [ "$3" != -- ]; then echo "# Avg bus bandwidth    : 10.13"; exit "$(cat code)"; fi
speed=$(sed -n "s/^$1 $2 //p" slow)
if [ "$speed" = fails ]; then echo "no route to $2" >&2; exit 1; fi
echo "# Avg bus bandwidth    : ${speed:-41.7049}"
"""


@dataclass(frozen=True)
class Ended:
    """What the program said, its exit code, and how often it started a test."""

    lines: list[str]
    code: int
    calls: list[str]


def script() -> list[str]:
    """The words after the shell text that makes the nodes reach each other."""
    job = AllPairsKind().manifest(ROW, INSTALLATION)
    container = job["spec"]["template"]["spec"]["containers"][0]
    return list(words_of(container)[4:])


def ended(folder: Path, slow: str = "", code: int = 0) -> Ended:
    """Runs the program of the first pod."""
    program = folder / "mpirun"
    program.write_text(MPIRUN)
    program.chmod(0o755)
    (folder / "slow").write_text(slow)
    (folder / "code").write_text(str(code))
    hosts = folder / "hosts"
    hosts.write_text("".join(f"h{number} slots=8\n" for number in range(SPEC.nodes)))
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "QUARTERMASTER_HOSTFILE": str(hosts),
        "TMPDIR": str(folder),
    }
    found = subprocess.run(
        script(), capture_output=True, check=False, text=True, cwd=folder, env=env
    )
    calls = (folder / "calls").read_text().splitlines()
    return Ended(found.stdout.splitlines(), found.returncode, calls)


def test_all_nodes_come_first_then_all_pairs(tmp_path: Path) -> None:
    found = ended(tmp_path)
    assert found.code == 0
    assert found.lines[:2] == ["# Avg bus bandwidth    : 10.13", "Pairs: 6 in 3 rounds"]
    fast = Decimal("41.70")
    pairs = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert read_pairs(found.lines) == PairSpeeds(6, dict.fromkeys(pairs, fast))
    assert found.lines[-1] == "Pairs: step 3/3"
    assert len(found.calls) == 7


def test_a_pair_is_measured_with_one_size(tmp_path: Path) -> None:
    whole, *pairs = ended(tmp_path).calls
    assert whole.startswith("-- -hostfile /etc/quartermaster/hostfile -np 32")
    assert whole.endswith(" -x NCCL_DEBUG_FILE all_reduce_perf -b 8 -e 1G")
    for call in pairs:
        assert call.endswith(
            " -np 16 -x LD_LIBRARY_PATH -x PATH -x NCCL_DEBUG -x NCCL_DEBUG_FILE"
            " all_reduce_perf -b 512M -e 512M -g 1 -c 0 -n 20"
        )


def test_slow_pairs_are_measured_again_alone(tmp_path: Path) -> None:
    found = ended(tmp_path, "h1 h3 5.1\nh0 h1 fails\nh0 h2 0.08\n")
    assert found.lines[-3:] == [
        "Pair 0-1 alone: failed. no route to h1",
        "Pair 0-2 alone: 0.08 GB/s",
        "Pair 1-3 alone: 5.10 GB/s",
    ]
    slow = {(0, 1): Decimal(0), (0, 2): Decimal("0.08"), (1, 3): Decimal("5.10")}
    assert read_pairs(found.lines).alone == slow
    assert len(found.calls) == 10


def test_no_more_pairs_than_nodes_are_measured_again(tmp_path: Path) -> None:
    slow = "".join(f"h{a} h{b} 5.1\n" for a in range(4) for b in range(a + 1, 4) if a + b != 5)
    assert len(ended(tmp_path, slow).calls) == 1 + 6 + 4


def test_pairs_are_measured_after_a_failure(tmp_path: Path) -> None:
    found = ended(tmp_path, code=3)
    assert (found.code, len(read_pairs(found.lines).speeds)) == (3, 6)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"nodes": 2}, "Pairs are measured among 3 to 64 nodes, not 2."),
        ({"nodes": 65}, "Pairs are measured among 3 to 64 nodes, not 65."),
        ({"gpus": Decimal("0.5")}, "A network test uses whole GPUs on each node."),
        (
            {"command": ("mpirun", "all_reduce_perf")},
            "`--form all-pairs` starts the test on each pair of nodes itself.",
        ),
    ],
)
def test_what_has_no_pairs_is_refused(more: dict[str, object], message: str, rig: Rig) -> None:
    site = Site(rig.policy.teams["team-a"], rig.cluster.view, ClusterSettings(), "team-a")
    with pytest.raises(UsageError) as refused:
        AllPairsKind().refuse(replace(SPEC, **more), site)
    assert refused.value.message == message


def test_its_objects_fit_the_kubernetes_schema() -> None:
    fits(AllPairsKind().manifest(ROW, INSTALLATION), "batch.v1.Job")
