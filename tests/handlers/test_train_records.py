"""/train show, export and compare: the records of runs."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session, select

from bot.training.logs.results import Reading, read_log
from bot.training.tables import Run, RunPhase
from tests.handlers.command_client import ALICE, BOB, DAN, TEAM_A, TEAM_B, CommandClient

BEGAN = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)
MISSING = (
    "RUN is the name of a run; `lane` is the newest run with that name, `lane#2` the second. For"
    " example"
)


def ran(client: CommandClient, name: str, gpus: int, **lasted: float) -> None:
    """A run of team-a that succeeded some time ago."""
    spec = {"image": "lane:1", "cpu": "8", "memory": "64Gi", "gpus": gpus}
    ended = BEGAN + timedelta(**lasted)
    run = Run(
        workspace_id="T0QM", team="team-a", name=name, number=1, person=ALICE, channel=TEAM_A,
        cluster="default", namespace="team-a", queue="team-a", job_name=name, spec=spec,
        asked_at=BEGAN, since=ended, started_at=BEGAN, ended_at=ended, phase=RunPhase.SUCCEEDED,
    )  # fmt: skip
    client.application.database.transaction(lambda session: session.add(run))


def test_the_record_of_a_run_is_json(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, "/train submit lane --image lane:1 --env A=1 -- python train.py")
    title, _, text = client.says(ALICE, TEAM_A, "/train export lane").partition("\n")
    record = json.loads(text)
    assert title == "Record of lane"
    assert (record["run"], record["env"], record["gpu_hours"]) == ("lane", {"A": "1"}, None)
    elsewhere = client.says(BOB, TEAM_B, "/train export lane")
    assert elsewhere.splitlines()[0] == "team-b has no run lane."
    assert client.says(DAN, TEAM_A, "/train export lane") != ""
    assert "lane:1" not in client.says(DAN, TEAM_A, "/train export lane")


def test_three_gpus_are_compared_with_one(client: CommandClient) -> None:
    ran(client, "one", 1, hours=12, minutes=45)
    ran(client, "three", 3, hours=4, minutes=30)
    assert client.says(ALICE, TEAM_A, "/train compare one three").splitlines() == [
        "one and three side by side",
        "  Run    State      GPUs  Ran      Speed-up  Efficiency  Throughput  GPU-hours",
        "  one    Succeeded  1     12h 45m  1.00x     100 %       unknown     12.75",
        "  three  Succeeded  3     4h 30m   2.83x     94 %        unknown     13.50",
        (
            "Speed-up and efficiency are relative to `one`: how many times faster a run is, and"
            " that divided by how many times the GPUs."
        ),
        "  [Share]",
    ]


# As the guide to synchronous training prints it.
LINE = "Total images/sec = 12881.33875"


def measured(client: CommandClient, name: str, nodes: int, line: str) -> None:
    """A run that succeeded on so many nodes of eight GPUs, with a line of its log."""
    ran(client, name, 8, minutes=6)

    def work(session: Session) -> None:
        run = session.exec(select(Run).where(Run.name == name)).one()
        run.spec = {**run.spec, "kind": "sync", "nodes": nodes}
        run.results = read_log([line], (), Reading()).results

    client.application.database.transaction(work)


def test_the_throughput_of_the_guide_is_everywhere(client: CommandClient) -> None:
    measured(client, "one", 1, "Total images/sec = 6500.0")
    measured(client, "two", 2, LINE)
    shown = client.says(ALICE, TEAM_A, "/train show two")
    assert "Results    total images/sec 12881.33875" in shown
    text = client.says(ALICE, TEAM_A, "/train export two").partition("\n")[2]
    assert json.loads(text)["metrics"] == {"total images/sec": "12881.33875"}
    told = (
        "`two` reaches 12,881.34 total images/sec on 16 GPUs, 99.1 % of 13,000.00, `one` (8 GPUs)"
        " scaled to as many."
    )
    whole = client.says(ALICE, TEAM_A, "/train compare one two").splitlines()
    assert (whole[1], "12881.33875 total images/sec" in whole[4]) == (told, True)
    assert client.says(ALICE, TEAM_A, "/train compare one two --by nodes").splitlines() == [
        "Throughput by number of nodes",
        told,
        (
            "  Throughput by number of nodes, in total images/sec. 1 node: measured 6,500, ideal"
            " 6,500; 2 nodes: measured 12,881, ideal 13,000."
        ),
        "  Nodes  GPUs  Throughput  Per node  Ideal      Of ideal  Runs",
        "  1      8     6,500.00    6,500.00  6,500.00   100.0 %   one",
        "  2      16    12,881.34   6,440.67  13,000.00  99.1 %    two",
        (
            "Throughput is total images/sec of a run, as its log reports it. Ideal is perfect"
            " scaling from 1 node: twice the throughput on twice the nodes."
        ),
        "  [Share]",
    ]


def test_epochs_are_compared_by_nodes(client: CommandClient) -> None:
    ran(client, "wide", 8, hours=2)

    def work(session: Session) -> None:
        run = session.exec(select(Run)).one()
        run.epochs = {"times": {"1": [2, 1800.0], "2": [4, 2000.0]}}

    client.application.database.transaction(work)
    assert client.says(ALICE, TEAM_A, "/train compare wide --by epoch").splitlines()[:5] == [
        "Epoch times by number of nodes",
        (
            "  Epoch time by number of nodes, in seconds per epoch. 1 node: measured 900, ideal"
            " 900; 2 nodes: measured 500, ideal 450."
        ),
        "  Nodes  GPUs  Epoch    Ideal    Speed-up  Efficiency  Epochs  Runs",
        "  1      8     900.0 s  900.0 s  1.00x     100 %       2       wide",
        "  2      16    500.0 s  450.0 s  1.80x     90 %        4       wide",
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "/train compare one",
            [
                "A comparison needs at least two runs.",
                "Name two or more runs, for example `/train compare lane lane#2`.",
            ],
        ),
        (
            "/train compare one one#1",
            [
                "one is named twice.",
                "Name two or more runs, for example `/train compare lane lane#2`.",
            ],
        ),
        (
            "/train compare one two",
            ["team-a has no run two.", "It has: one."],
        ),
        (
            "/train compare",
            ["`RUN` is missing.", f"{MISSING} `/train compare lane lane#2`."],
        ),
        (
            "/train compare one --by epoch",
            [
                "one has no epoch times.",
                (
                    "Its log needs a line such as `Epoch 3/10` for each epoch, and two or more"
                    " epochs on the same number of nodes: the first one is not timed."
                ),
            ],
        ),
        (
            "/train compare one --by nodes",
            [
                "A comparison needs at least two runs.",
                "Name two or more runs, for example `/train compare one one#2 two --by nodes`.",
            ],
        ),
        (
            "/train compare one one --by epoch",
            [
                "one is named twice.",
                ("Name two or more runs, for example `/train compare wide wide#2 --by epoch`."),
            ],
        ),
        ("/train export", ["`RUN` is missing.", f"{MISSING} `/train export lane`."]),
    ],
)
def test_refusals_show_what_is_right(client: CommandClient, text: str, answer: list[str]) -> None:
    ran(client, "one", 1, hours=1)
    assert client.says(ALICE, TEAM_A, text).splitlines() == answer
