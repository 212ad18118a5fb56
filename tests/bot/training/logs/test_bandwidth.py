"""Tables of nccl-tests, as its versions print them."""

from pathlib import Path

import pytest

from bot.training.logs.bandwidth import Bandwidth, read_bandwidth

TABLES = Path(__file__).parent / "tables"


def table(name: str) -> list[str]:
    """The lines of one layout."""
    return (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_the_published_table_is_read_whole() -> None:
    found = read_bandwidth(table("efa_p4d"))
    assert found == Bandwidth(average=8.23785, maximum=42.04, rows=28, wrong=0, provider="efa")


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("old", Bandwidth(102.617, 104.13, 2, 0)),
        ("root", Bandwidth(135.455, 135.50, 1, 0)),
        ("unchecked", Bandwidth(118.74, 118.89, 1, 0)),
        ("iterations", Bandwidth(21.0175, 42.04, 2, 0)),
        ("times", Bandwidth(42.035, 42.04, 1, 3)),
    ],
)
def test_every_layout_is_read(layout: str, expected: Bandwidth) -> None:
    assert read_bandwidth(table(layout)) == expected


@pytest.mark.parametrize(
    ("line", "provider"),
    [
        ("NCCL INFO NET/OFI Selected Provider is efa", "efa"),
        ("NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)", "efa"),
        ("NCCL INFO NET/OFI Selected provider is tcp;ofi_rxm, fabric is TCP-IP", "tcp;ofi_rxm"),
        ("NCCL INFO NET/IB : Using [0]mlx5_2:1/RoCE [RO]; OOB eth0:10.244.2.21<0>", "ib"),
        ("NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>", "socket"),
        ("NCCL INFO NET/IB : No device found.", ""),
    ],
)
def test_the_network_is_told_by_nccl(line: str, provider: str) -> None:
    assert read_bandwidth([line]).provider == provider


def test_a_table_without_its_head_has_no_maximum() -> None:
    assert read_bandwidth(table("old")[3:]) == Bandwidth(average=102.617, wrong=0)


def test_other_programs_measure_nothing() -> None:
    said = ["epoch 1/3 step 360/400 loss 1.501 images/sec: 808.7", "# size of the batch: 33"]
    assert read_bandwidth(said) == Bandwidth()


@pytest.mark.parametrize(
    "line",
    [
        "# Out of bounds values : " + "9" * 5000,
        "# Avg bus bandwidth : " + "9" * 5000,
        "# Avg bus bandwidth : 1.2.3",
        "# Avg bus bandwidth : e",
        "# Avg bus bandwidth : 1e999",
    ],
)
def test_garbled_lines_measure_nothing(line: str) -> None:
    assert read_bandwidth([line]) == Bandwidth()
