from datetime import timedelta
from typing import Any

import pytest

from bot.slack.grammar.container_parameters import (
    ClaimMount,
    CodeVersion,
    CpuQuantity,
    EnvironmentPair,
    ImageReference,
    MemoryQuantity,
    SecretPair,
    ShellWords,
)
from bot.slack.grammar.parameters import (
    LONGEST_NAME,
    Choice,
    Duration,
    GpuAmount,
    GpuCount,
    NodeCount,
    RunEndReference,
    RunName,
    RunReference,
    TeamName,
    Text,
    ValueType,
    WholeNumber,
)

KINDS: list[ValueType[Any]] = [
    ClaimMount(),
    CodeVersion(),
    CpuQuantity(),
    EnvironmentPair(),
    ImageReference(),
    ShellWords(),
    MemoryQuantity(),
    SecretPair(),
    Choice("low", "high"),
    Duration(),
    Duration(minimum=timedelta(days=2)),
    GpuAmount(),
    GpuCount(),
    GpuCount(maximum=1),
    NodeCount(),
    RunName(),
    RunReference(),
    RunEndReference(),
    TeamName(),
    WholeNumber(1, 200),
]


def test_long_names_of_runs_are_shortened_apart() -> None:
    first, second = (RunName().read(f"netapp-tensorflow-multi-imagenet-{n}") for n in "ab")
    assert (len(first), len(second)) == (LONGEST_NAME, LONGEST_NAME)
    assert first != second
    assert RunName().read(first) == first
    assert RunName().read("n" * LONGEST_NAME) == "n" * LONGEST_NAME


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_every_kind_reads_its_own_example(kind: ValueType[Any]) -> None:
    kind.read(kind.example)
    assert kind.word
    assert kind.form


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (RunReference(), "lane", ("lane", None)),
        (RunReference(), "lane#2", ("lane", 2)),
        (RunEndReference(), "prep", (("prep", None), False)),
        (RunEndReference(), "prep#2:any", (("prep", 2), True)),
        (NodeCount(), "3", (3, 3)),
        (NodeCount(), "1:3", (1, 3)),
        (GpuAmount(), "+8", (8, True)),
        (GpuAmount(), "-2", (-2, True)),
        (GpuAmount(), "12", (12, False)),
        (Duration(), "15m", timedelta(minutes=15)),
        (Duration(), "1d12h", timedelta(days=1, hours=12)),
        (EnvironmentPair(), "A=b=c d", ("A", "b=c d")),
        (EnvironmentPair(), "A=", ("A", "")),
        (SecretPair(), "KEY=wandb/api-key", ("KEY", "wandb", "api-key")),
        (ClaimMount(), "imagenet:/data", ("imagenet", "/data", False)),
        (ClaimMount(), "imagenet:/data/x:ro", ("imagenet", "/data/x", True)),
        (ClaimMount(), "azurenetappfiles:100Gi:/mnt", ("azurenetappfiles", "100Gi", "/mnt")),
        (CodeVersion(), "github.com/acme/lane@3f2a9c1", "github.com/acme/lane@3f2a9c1"),
        (ShellWords(), "sh -c 'a b'", ("sh", "-c", "a b")),
        (ImageReference(), "localhost:5000/a/b", "localhost:5000/a/b"),
        (Choice("low", "high"), "HIGH", "high"),
        (Text(), " two words ", "two words"),
        (CpuQuantity(), "500m", "500m"),
        (MemoryQuantity(), "1.5Ti", "1.5Ti"),
    ],
)
def test_reads_values_as_written(kind: ValueType[Any], text: str, value: object) -> None:
    assert kind.read(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RunName(), "Lane"),
        (RunName(), "a" * 64),
        (RunName(), "lane-"),
        (RunName(), "lane\n"),
        (RunReference(), "lane#0"),
        (GpuAmount(), "+0"),
        (GpuAmount(), "eight"),
        (GpuAmount(), "٣"),
        (NodeCount(), "0"),
        (NodeCount(), "3:1"),
        (NodeCount(), "0:3"),
        (NodeCount(), "1:513"),
        (NodeCount(), "1-3"),
        (GpuCount(), "0"),
        (GpuCount(), "0.0"),
        (GpuCount(), "0.125"),
        (GpuCount(maximum=64), "64.5"),
        (WholeNumber(1, 200), "201"),
        (Duration(), "3"),
        (Duration(), ""),
        (Duration(maximum=timedelta(days=14)), "15d"),
        (Duration(), "9" * 40 + "d"),
        (EnvironmentPair(), "1A=b"),
        (EnvironmentPair(), "A"),
        (SecretPair(), "KEY=hunter2"),
        (ClaimMount(), "imagenet:data"),
        (ClaimMount(), "azurenetappfiles:100:/mnt"),
        (ClaimMount(), "azurenetappfiles:0Gi:/mnt"),
        (ClaimMount(), "azurenetappfiles:100Gi:/mnt:ro"),
        (ClaimMount(), "imagenet:/data/../etc"),
        (CodeVersion(), "acme/lane@main"),
        (ShellWords(), "sh -c 'a b"),
        (ShellWords(), " "),
        (ImageReference(), "ghcr.io/Acme Lane"),
        (ImageReference(), "-x"),
        (MemoryQuantity(), "64"),
        (MemoryQuantity(), "0Gi"),
        (CpuQuantity(), "0"),
        (Choice("low", "high"), "middle"),
        (Text(maximum=3), "four"),
        (Text(), "  "),
    ],
)
def test_refuses_values_of_other_forms(kind: ValueType[Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        kind.read(text)


def test_limits_are_part_of_the_form() -> None:
    assert GpuCount(maximum=64).form == (
        "a number of GPUs from 1 to 64, or a fraction of one such as `0.5`"
    )
    assert WholeNumber(1, 64).form == "a whole number from 1 to 64"
    assert Duration(maximum=timedelta(days=14)).form == (
        "a duration such as `15m`, `8h` or `1d12h`, from 1m to 14d"
    )
    assert Choice("low", "high").form == "one of `low`, `high`"
