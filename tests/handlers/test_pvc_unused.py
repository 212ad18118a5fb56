"""/pvc unused as people type it: what nothing needs, who mounted it last, and how it goes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from sqlmodel import Session, select

from bot.cluster.resources import PVCS
from bot.training.tables import Run, RunPhase
from playground.cluster.story import claim, snapshot_class
from tests.handlers.command_client import ALICE, BOB, ERIN, TEAM_A, TEAM_B, CommandClient, opened
from tests.handlers.test_pvc import PRICES, add_claim, mount
from tests.playground.cluster.served import Served

RUN = "--gpus 1 --image ghcr.io/acme/lane:3.1 --pvc team-a-data:/data"
HINT = (
    "`/pvc delete PVC --snapshot-first` takes a snapshot of one and deletes it. Leads and admins"
    " may do that."
)


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, PRICES) as opened_client:
        yield opened_client


def end(client: CommandClient, name: str) -> None:
    """The run has succeeded three days ago."""

    def work(session: Session) -> None:
        run = session.exec(select(Run).where(Run.name == name)).one()
        run.phase = RunPhase.SUCCEEDED
        run.ended_at = client.application.clock.now() - timedelta(days=3)

    client.application.database.transaction(work)


def read_of_runs(client: CommandClient) -> int:
    """How many statements of an answer read runs."""
    counted = list[str]()

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "FROM runs" in statement:
            counted.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        client.says(ALICE, TEAM_A, "/pvc unused")
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert counted
    return len(counted)


def test_mounted_and_awaited_claims_are_left_out(client: CommandClient, served: Served) -> None:
    mount(client, served)
    client.says(ALICE, TEAM_A, f"/train submit lane {RUN} -- python train.py")
    assert client.says(ALICE, TEAM_A, "/pvc unused").splitlines() == [
        "Unused PVCs of team-a",
        "team-a has no unused PVCs.",
    ]


def test_unused_claims_say_who_mounted_them_last(client: CommandClient, served: Served) -> None:
    mount(client, served)
    client.says(ALICE, TEAM_A, f"/train submit lane {RUN} -- python train.py")
    end(client, "lane")
    assert client.says(ALICE, TEAM_A, "/pvc unused").splitlines() == [
        "Unused PVCs of team-a",
        "Total: 102.40 a month.",
        HINT,
        "  PVC          Size   Class     Last mounted    Snapshots  Monthly cost",
        "  team-a-data  1 TiB  standard  3d ago by lane  0          102.40",
    ]


def test_dearest_claims_come_first_with_buttons(client: CommandClient, served: Served) -> None:
    add_claim(client, served, claim("big", size="4Ti"))
    told = client.says(ERIN, TEAM_A, "/pvc unused").splitlines()
    assert [each.split()[0] for each in told if each.startswith("  ")][1:4] == [
        "big",
        "imagenet",
        "team-a-data",
    ]
    assert told[-1].strip() == "[Delete big ...] [Delete imagenet ...] [Delete team-a-data ...]"
    assert "by no recent run, created " in told[4]


def test_runs_are_read_once_for_all(client: CommandClient, served: Served) -> None:
    few = read_of_runs(client)
    for number in range(8):
        add_claim(client, served, claim(f"scratch-{number}"))
    assert read_of_runs(client) == few


def test_buttons_ask_before_anything_is_deleted(client: CommandClient, served: Served) -> None:
    found = client.application.clusters["default"].view.get(PVCS, "imagenet", "team-a")
    assert found is not None
    value = f'{{"t":"team-a","c":"default","p":"imagenet","u":"{found.uid}"}}'
    told = client.clicks(ERIN, TEAM_A, "pvc.delete-ask", value).splitlines()
    assert (told[0], told[-1].strip()) == ("Delete PVC imagenet?", "[Delete it]")
    mount(client, served)
    said = client.clicks(ERIN, TEAM_A, "pvc.delete-ask", value)
    assert said.startswith("PVC imagenet is needed now. Pod lane-0 of run lane mounts it.")
    refused = client.clicks(BOB, TEAM_B, "pvc.delete-ask", value)
    assert "imagenet" not in refused
