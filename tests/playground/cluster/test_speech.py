import re
from typing import Any

import pytest

from playground.cluster.control.training import Training
from tests.playground.cluster.served import PODS, Object, Served, pod

NCCL = ["mpirun", "-np", "16", "all_reduce_perf", "-b", "8", "-e", "1G", "-f", "2"]


def said(served: Served, command: list[str], seconds: float = 200, **spec: Any) -> list[str]:
    body: Object = pod("one", restartPolicy="Never", **spec)
    body["spec"]["containers"][0]["command"] = command
    served.post(PODS, body)
    served.pass_time(seconds)
    text: str = served.admin.get(f"{PODS}/one/log").text
    return text.splitlines()


def columns(lines: list[str]) -> tuple[list[str], list[list[str]]]:
    """The header of a table of bandwidths and its rows, as a person reads them."""
    plain = [re.sub(r"^\[\d+,\d+\]<std(out|err)>:", "", line) for line in lines]
    header = next(line.split()[1:] for line in plain if line.split()[1:2] == ["size"])
    return header, [
        line.split() for line in plain if line.split()[:1] and line.split()[0].isdigit()
    ]


@pytest.mark.parametrize("layout", ["2.0", "2.13", "2.19"])
def test_bandwidth_tables_come_in_all_layouts(served: Served, layout: str) -> None:
    served.cluster.behaviours["busybox"] = Training(layout=layout)
    lines = said(served, NCCL)
    header, rows = columns(lines)
    assert len(rows) == 28
    assert {len(row) for row in rows} == {len(header)}
    places = [number for number, name in enumerate(header) if name == "busbw"]
    rates = [float(row[place]) for row in rows for place in places]
    told = next(line for line in lines if "Avg bus bandwidth" in line)
    average = float(told.split(":")[-1])
    assert average == pytest.approx(sum(rates) / len(rates), abs=0.001)
    assert 35 < max(rates) < 43
    assert ("root" in header, "i_p99" in header) == (layout != "2.0", layout == "2.19")


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("efa", "NET/OFI Selected provider is efa, fabric is efa (found 4 nics)"),
        ("socket", "NET/Socket : Using [0]eth0:10.0.0.2<0>"),
        ("ib", "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>"),
    ],
)
def test_bandwidth_tests_name_their_network(served: Served, provider: str, words: str) -> None:
    served.cluster.behaviours["busybox"] = Training(provider=provider)
    assert any(line.endswith(words) for line in said(served, NCCL))


def test_running_bandwidth_test_shows_half_a_table(served: Served) -> None:
    _, rows = columns(said(served, NCCL, seconds=30))
    assert 5 < len(rows) < 25


def test_launcher_names_ranks_and_the_total(served: Served) -> None:
    lines = said(served, ["mpirun", "-np", "4", "python", "train.py"])
    assert sum("of 4 started" in line for line in lines) == 4
    assert lines[-1].endswith("Total images/sec = 3249.60000")


def test_elastic_agents_tell_of_their_rendezvous(served: Served) -> None:
    words = ["torchrun", "--nnodes=1:3", "--nproc_per_node=8", "--rdzv_endpoint=el1-0.el1:29400"]
    lines = said(served, [*words, "train.py"], hostname="el1-1")
    assert "  master_addr=el1-0.el1" in lines
    assert "  group_world_size=3" in lines
    assert any("epoch 1/1" in line for line in lines)


def test_notebook_runs_until_it_is_stopped(served: Served) -> None:
    command = ["start-notebook.py", "--ServerApp.base_url=/team-a/nb1", "--ServerApp.ip=0.0.0.0"]
    lines = said(served, command, seconds=90_000)
    assert any(line.endswith("http://one:8888/team-a/nb1/lab?token=...") for line in lines)
    assert served.get(f"{PODS}/one")["status"]["phase"] == "Running"


def test_workers_of_a_launcher_stay_silent(served: Served) -> None:
    assert said(served, ["/usr/sbin/sshd", "-De"]) == []
    assert served.get(f"{PODS}/one")["status"]["phase"] == "Running"
