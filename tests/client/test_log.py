"""The client: what it prints, and that the bot reads it."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from bot.training.series.reading import MetricReader
from tests.deploy.test_wheels import built, carried, licences

CLIENT = Path(__file__).parents[2] / "client"


def printed(call: str, **environment: str) -> str:
    """What a program prints that calls the client."""
    program = f"import sys; sys.path.insert(0, {str(CLIENT)!r})\nimport quartermaster\n{call}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    return done.stdout or done.stderr.splitlines()[-1]


def test_a_call_prints_the_documented_line() -> None:
    line = printed("quartermaster.log(step=100, loss=0.41)")
    assert line == 'quartermaster: {"step": 100, "loss": 0.41}\n'
    line = printed("quartermaster.log({'val/loss': 1e-7, 'mIoU': 3}, epoch=2.5)")
    assert line == 'quartermaster: {"epoch": 2.5, "val/loss": 1e-07, "mIoU": 3}\n'


def test_the_bot_reads_what_is_printed() -> None:
    call = "nan = float('nan')\nquartermaster.log(step=7, a=nan, b=float('-inf'), c=10**30)"
    a, b, c = MetricReader((), None).read(printed(call), 1.0)
    assert math.isnan(a.point.value)
    assert (b.point.value, c.point.value, c.point.step) == (-math.inf, 1e30, 7.0)


@pytest.mark.parametrize(
    "rank", ["RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]
)
def test_only_the_first_rank_prints(rank: str) -> None:
    assert printed("quartermaster.log(loss=1)\nprint('end')", **{rank: "1"}) == "end\n"
    assert printed("quartermaster.log(loss=1)", **{rank: "0"}) == 'quartermaster: {"loss": 1}\n'
    call = "quartermaster.log(loss=1, all_ranks=True)"
    assert printed(call, **{rank: "3"}) == 'quartermaster: {"loss": 1}\n'


def test_what_has_one_value_is_a_number() -> None:
    tensor = "class Tensor:\n    def __float__(self): return 0.5\n"
    line = printed(f"{tensor}quartermaster.log(step=1, loss=Tensor(), lr=None)")
    assert line == 'quartermaster: {"step": 1, "loss": 0.5}\n'
    assert printed("quartermaster.log(step=1)\nprint('end')") == "end\n"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("'0.4'", "TypeError: loss is '0.4', which is no number"),
        ("True", "TypeError: loss is True, which is no number"),
        ("[1]", "TypeError: loss is no number: float() argument must be a string or a real number"),
    ],
)
def test_a_value_that_is_no_number_is_named(value: str, why: str) -> None:
    assert printed(f"quartermaster.log(loss={value})").partition(", not '")[0] == why


def test_the_wheel_is_one_module_without_dependencies(tmp_path: Path) -> None:
    wheel = built(CLIENT, tmp_path)
    assert carried(wheel) == {"quartermaster.py"}
    assert set(licences(wheel)) == {"LICENSE"}
    assert (CLIENT / "LICENSE").read_bytes() == (CLIENT.parent / "LICENSE").read_bytes()
