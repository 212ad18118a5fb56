"""/pvc delete as people type it: who may, what is lost, and what needs the PVC."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.cluster.resources import PVCS
from bot.snapshots.deletions.tables import Deletion
from playground.cluster.story import snapshot_class
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

RUN = "--gpus 1 --image ghcr.io/acme/lane:3.1 --pvc imagenet:/data:ro"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def value(client: CommandClient, **more: object) -> str:
    """What the button says."""
    found = client.application.clusters["default"].view.get(PVCS, "imagenet", "team-a")
    assert found is not None
    told = {"t": "team-a", "c": "default", "p": "imagenet", "u": found.uid}
    return json.dumps(told | more)


def rows(client: CommandClient) -> list[tuple[str, str, str]]:
    found = client.application.database.read(lambda s: list(s.exec(select(Deletion))))
    return [(each.person, each.claim_name, each.phase) for each in found]


def test_lead_is_asked_before_it_is_deleted(client: CommandClient) -> None:
    told = client.says(ERIN, TEAM_A, "/pvc delete imagenet --snapshot-first").splitlines()
    assert [" ".join(each.split()) for each in told] == [
        "Delete PVC imagenet?",
        "Its volume and its data are deleted with it. This cannot be undone.",
        "A snapshot is taken first, and stays.",
        "PVC `team-a/imagenet`",
        "Size 1 TiB",
        "Class standard",
        "[Take a snapshot and delete it]",
    ]
    assert rows(client) == []
    assert client.clicks(ERIN, TEAM_A, "pvc.delete", value(client, s=True)) == (
        "Requested. Its card in this channel shows the progress."
    )
    assert rows(client) == [(ERIN, "imagenet", "saving")]


def test_second_click_does_not_delete_again(client: CommandClient) -> None:
    click = value(client)
    client.clicks(ERIN, TEAM_A, "pvc.delete", click)
    told = client.clicks(CAROL, TEAM_A, "pvc.delete", click)
    assert told.startswith("@U0ERIN already requested to delete PVC imagenet.")
    assert len(rows(client)) == 1


def test_members_and_other_teams_may_not_delete(client: CommandClient) -> None:
    told = client.says(ALICE, TEAM_A, "/pvc delete imagenet")
    assert told.startswith("This requires the right pvc.delete, which you do not have here.")
    client.clicks(ALICE, TEAM_A, "pvc.delete", value(client))
    client.clicks(BOB, TEAM_B, "pvc.delete", value(client))
    assert rows(client) == []


def test_waiting_run_keeps_its_claim(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"/train submit lane {RUN} -- python train.py")
    assert client.says(ERIN, TEAM_A, "/pvc delete imagenet").splitlines() == [
        "PVC imagenet is needed now. Run lane mounts it.",
        "Stop what uses it, or wait until it has ended. Then delete it again.",
    ]


def test_buttons_of_a_deleted_claim_are_refused(client: CommandClient) -> None:
    assert client.clicks(ERIN, TEAM_A, "pvc.delete", value(client, u="gone")).splitlines() == [
        "PVC imagenet is now a different PVC of the same name. Nothing was deleted.",
        "Look at it first: `/pvc show imagenet`.",
    ]
    assert client.clicks(ERIN, TEAM_A, "pvc.delete", "nonsense") == (
        "This button is out of date.\nRequest it again: `/pvc delete PVC`."
    )
    assert client.clicks(ERIN, TEAM_A, "pvc.delete-cancel", "none") == (
        "This deletion no longer exists."
    )


LIMIT = "leftovers: {approve_above_gib: 100}\n"


@pytest.fixture
def limited(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    """A bot whose people need an approval to remove more than 100 GiB."""
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, LIMIT) as opened_client:
        yield opened_client


def test_above_the_limit_it_is_requested(limited: CommandClient) -> None:
    told = limited.says(ERIN, TEAM_A, "/pvc delete imagenet").splitlines()
    assert [" ".join(each.split()) for each in told] == [
        "Delete PVC imagenet?",
        "Its volume and its data are deleted with it. This cannot be undone.",
        "It has no snapshots.",
        "An approver other than you has to approve it.",
        "PVC `team-a/imagenet`",
        "Size 1 TiB",
        "Class standard",
        "[Request it]",
    ]
    said = limited.clicks(ERIN, TEAM_A, "pvc.delete", value(limited)).splitlines()
    assert said[0] == (
        "It holds 1 TiB and costs an unknown sum; above 100 GiB a removal needs approval."
    )
    assert said[1].startswith("Requested an approval to remove PVC imagenet. @U0CAROL can give it")
    assert rows(limited) == []
    waiting = limited.says(CAROL, TEAM_A, "/approval list")
    assert "team-a: remove PVC imagenet, which holds 1 TiB and costs an unknown sum" in waiting
    again = limited.clicks(CAROL, TEAM_A, "pvc.delete", value(limited))
    assert again.startswith("@U0ERIN already requested to remove PVC imagenet; it waits for an")
