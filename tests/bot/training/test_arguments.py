"""The hyperparameters of a run: what the arguments of its command say."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.training.arguments import MOST_ARGUMENTS, arguments_of, differing_arguments
from tests.bot.training.records.past import finished


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python train.py --lr 0.1 --batch-size=64", {"lr": "0.1", "batch-size": "64"}),
        ("python -u train.py --amp --margin -0.5", {"amp": "yes", "margin": "-0.5"}),
        ("torchrun --nproc-per-node=8 train.py --lr .1", {"lr": ".1"}),
        ("python -m torch.distributed.run --nnodes 2 train.py --lr .1", {"lr": ".1"}),
        ("python -m pkg.train --lr .1", {"lr": ".1"}),
        ("bash -c 'cd /code && python train.py --lr 0.1 --sizes 1 2'", {"lr": "0.1",
                                                                         "sizes": "1 2"}),
        ("sh -c 'python train.py --name \"unfinished'", {}),
        ("python train.py optimizer.lr=0.1 +new=1", {"optimizer.lr": "0.1", "new": "1"}),
        ("python train.py --password hunter2 --api-key=abc123def --lr 1", {"lr": "1"}),
        ("python train.py --note hf_0123456789abcdefghij --lr 1", {"lr": "1"}),
        ("nvidia-smi", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_options_of_the_program_are_arguments(command: str, found: dict[str, str]) -> None:
    assert arguments_of(shlex.split(command)) == found


@given(st.lists(st.text(max_size=30), max_size=100))
def test_any_command_has_few_short_arguments(command: list[str]) -> None:
    found = arguments_of(command)
    assert len(found) <= MOST_ARGUMENTS
    assert all(len(value) <= 100 for value in found.values())


def test_arguments_that_differ_are_named() -> None:
    spec = {"image": "lane:1", "cpu": "8", "memory": "64Gi", "gpus": 1}
    one, two = (
        finished(name, 1, spec=spec | {"command": ["python", "train.py", *words]})
        for name, words in (("one", ["--lr", "1", "--amp"]), ("two", ["--lr", "2"]))
    )
    assert list(differing_arguments([one, two])) == [
        "`lr`: 1 in one, 2 in two",
        "`amp`: yes in one, not set in two",
    ]
    assert list(differing_arguments([one, one])) == []
