"""/pvc copy as people type it: who may, what it does, and what is wrong with the words."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.cluster.resources import PVCS, STORAGE_CLASSES
from bot.snapshots.copies.tables import Copy
from playground.arm.trident import CLASS, storage_class
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DATASETS,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.handlers.furnished_pvcs import DISK, disk
from tests.playground.cluster.served import Served


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.create("storageclasses", storage_class())
    served.cluster.create("persistentvolumeclaims", disk(), "team-a")
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, DATASETS) as opened_client:
        view = opened_client.application.clusters["default"].view
        eventually(lambda: view.get(STORAGE_CLASSES, CLASS) is not None)
        eventually(
            lambda: (
                (found := view.get(PVCS, DISK, "team-a")) is not None
                and found.status.phase == "Bound"
            )
        )
        yield opened_client


def rows(client: CommandClient) -> list[tuple[str, str, str]]:
    found = client.application.database.read(lambda s: list(s.exec(select(Copy))))
    return [(each.person, each.claim_name, each.target) for each in found]


def button(client: CommandClient) -> str:
    found = client.application.clusters["default"].view.get(PVCS, DISK, "team-a")
    assert found is not None
    return json.dumps({"t": "team-a", "c": "default", "p": DISK, "u": found.uid, "a": "shared"})


def test_lead_is_asked_before_it_is_copied(client: CommandClient) -> None:
    told = client.says(ERIN, TEAM_A, "/pvc copy scratch").splitlines()
    assert [" ".join(each.split()) for each in told] == [
        "Copy scratch to scratch-rwx?",
        (
            "A Job copies all files of `scratch` to `scratch-rwx`, which many pods can"
            " mount, and reads"
            " each back. `scratch` stays."
        ),
        (
            "Kept: owners, modes, times, symbolic and hard links, holes, extended attributes"
            " and POSIX"
            " ACLs. Left out: sockets, pipes and devices."
        ),
        "New PVC scratch-rwx, ReadWriteMany",
        "Class standard → azurenetappfiles",
        "Size 10 GiB → 10 GiB",
        "Reads the PVC itself, which nothing may mount meanwhile",
        "Monthly cost unknown: its class has no price",
        "[Copy it]",
    ]
    assert rows(client) == []
    assert client.clicks(ERIN, TEAM_A, "pvc.copy", button(client)) == (
        "Requested. Its card in this channel shows the progress."
    )
    assert rows(client) == [(ERIN, "scratch", "shared")]


def test_second_click_does_not_copy_again(client: CommandClient) -> None:
    client.clicks(ERIN, TEAM_A, "pvc.copy", button(client))
    told = client.clicks(CAROL, TEAM_A, "pvc.copy", button(client))
    assert told.startswith("@U0ERIN is already copying scratch to shared.")
    assert len(rows(client)) == 1


def test_members_may_not_copy(client: CommandClient) -> None:
    told = client.says(ALICE, TEAM_A, "/pvc copy scratch")
    assert told.startswith("This requires the right pvc.copy, which you do not have here.")
    client.clicks(ALICE, TEAM_A, "pvc.copy", button(client))
    client.clicks(BOB, TEAM_B, "pvc.copy", button(client))
    assert rows(client) == []


def test_two_ways_at_once_are_refused(client: CommandClient) -> None:
    assert client.says(ERIN, TEAM_A, "/pvc copy scratch --live --snapshot") == (
        "--live and --snapshot cannot both be given.\n"
        "--snapshot copies one moment of a PVC in use; --live reads it while it changes."
    )


def test_classes_are_named_with_what_they_can(client: CommandClient) -> None:
    told = client.says(ERIN, TEAM_A, "/pvc copy scratch --class standard")
    assert told.splitlines()[0] == (
        "It is not known whether many pods can mount volumes of storage class standard, whose"
        " driver is csi.playground."
    )
    assert client.says(ERIN, TEAM_A, "/pvc copy scratch --class nfs") == (
        "Cluster default has no storage class nfs.\n"
        "Many pods can mount volumes of: azurenetappfiles. It is not known for: standard."
    )


def test_shared_claims_are_refused_with_advice(client: CommandClient) -> None:
    assert client.says(ERIN, TEAM_A, "/pvc copy imagenet") == (
        "Many pods can already mount PVC imagenet: its access mode is ReadWriteMany.\n"
        "Mount it in each of them, for example `--pvc imagenet:/data`."
    )


def test_old_buttons_are_refused(client: CommandClient) -> None:
    assert client.clicks(ERIN, TEAM_A, "pvc.copy", "nonsense") == (
        "This button is out of date.\nRequest it again: `/pvc copy PVC`."
    )
    assert client.clicks(ERIN, TEAM_A, "pvc.copy-stop", "none") == "This copy no longer exists."
