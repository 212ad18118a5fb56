"""/pvc as people type it: the team's PVCs, what mounts them, and where their data is from."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.cluster import labels
from bot.cluster.resources import HOLDERS, PODS, PVCS, SNAPSHOTS
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.snapshots.tables import Restore, Snapshot, SnapshotPhase
from bot.training.tables import Run, RunPhase
from playground.cluster.objects.kinds import POD, VOLUME_SNAPSHOT
from playground.cluster.story import claim, snapshot_class
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import (
    ALICE,
    BOB,
    DAN,
    DATASETS,
    ELSEWHERE,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

PRICES = DATASETS + "  classes: {standard: {price_per_gib_month: 0.1}}\n"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, PRICES) as opened_client:
        yield opened_client


def pod(name: str, mounted: str, run: str = "") -> dict[str, Any]:
    """A pod that mounts a PVC; with `run`, one of a run of Alice's."""
    metadata: dict[str, Any] = {"name": name}
    if run:
        metadata["labels"] = {labels.RUN: f"id-{run}", labels.PERSON: ALICE}
        metadata["annotations"] = {labels.RUN_NAME: run}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": mounted}}
    main = {"name": "main", "image": "ghcr.io/acme/lane:3.1"}
    return {"metadata": metadata, "spec": {"containers": [main], "volumes": [volume]}}


def mount(client: CommandClient, served: Served) -> None:
    """Two pods of run lane and one of no run mount imagenet; a further one has ended."""
    world = served.cluster
    for name, run in (("lane-0", "lane"), ("lane-1", "lane"), ("merge", ""), ("merged", "")):
        world.create("pods", pod(name, "imagenet", run), "team-a")
    ended = {"phase": "Succeeded"}
    world.inside.world.change(POD, ("team-a", "merged"), lambda obj: obj.update(status=ended))
    view = client.application.clusters["default"].view

    def seen() -> bool:
        others = [each.status.phase for each in view.all(HOLDERS, "team-a")]
        return len(view.all(PODS, "team-a")) == 2 and sorted(others) == ["Pending", "Succeeded"]

    eventually(seen)


def take(client: CommandClient, served: Served) -> str:
    """The name of a snapshot of imagenet that is ready in the cluster."""
    client.says(ALICE, TEAM_A, "/snapshot create imagenet")
    (row,) = client.application.database.read(lambda s: list(s.exec(select(Snapshot))))
    world, source = served.cluster, {"source": {"persistentVolumeClaimName": "imagenet"}}
    world.create("volumesnapshots", {"metadata": {"name": row.name}, "spec": source}, "team-a")
    status = {"readyToUse": True, "creationTime": "2026-11-21T12:00:00Z"}
    place = ("team-a", row.name)
    world.inside.world.change(VOLUME_SNAPSHOT, place, lambda obj: obj.update(status=status))
    view = client.application.clusters["default"].view

    def seen() -> bool:
        found = view.get(SNAPSHOTS, row.name, "team-a")
        return found is not None and found.status.ready_to_use

    eventually(seen)

    def work(session: Session) -> None:
        there, found = session.get_one(Snapshot, row.id), view.get(SNAPSHOTS, row.name, "team-a")
        assert found is not None
        there.phase, there.uid, there.size_bytes = SnapshotPhase.READY, found.uid, 2**40
        there.taken_at = found.status.creation_time

    client.application.database.transaction(work)
    return row.name


def add_claim(client: CommandClient, served: Served, body: dict[str, Any]) -> PersistentVolumeClaim:
    """A PVC of team-a that the bot has seen."""
    served.cluster.create("persistentvolumeclaims", body, "team-a")
    view, name = client.application.clusters["default"].view, body["metadata"]["name"]
    eventually(lambda: view.get(PVCS, name, "team-a") is not None)
    found = view.get(PVCS, name, "team-a")
    assert found is not None
    return found


def asked(served: Served) -> list[str]:
    """What the API server was asked, but for watches, which begin at any time."""
    names = [each.name for each in served.ledger.requests]
    return [each for each in names if not each.startswith("watch ")]


def facts(text: str) -> dict[str, str]:
    """The facts of a card, by their labels."""
    found = (re.split(r" {2,}", line.strip(), maxsplit=1) for line in text.splitlines()[1:])
    return {each[0]: each[1] for each in found if len(each) == 2}


def test_list_shows_mounts_snapshots_and_cost(client: CommandClient, served: Served) -> None:
    take(client, served)
    mount(client, served)
    assert client.says(ALICE, TEAM_A, "/pvc list").splitlines() == [
        "PVCs of team-a",
        "Total: 204.80 a month.",
        "  PVC          Size   Class     Access  Mounted by                Snapshots  Monthly cost",
        "  imagenet     1 TiB  standard  RWX     lane (2 pods), pod merge  1          102.40",
        "  team-a-data  1 TiB  standard  RWX     not mounted               0          102.40",
    ]


def test_list_and_show_ask_no_api_server(client: CommandClient, served: Served) -> None:
    before = asked(served)
    client.says(ALICE, TEAM_A, "/pvc list")
    client.says(ALICE, TEAM_A, "/pvc show imagenet")
    assert asked(served) == before


def test_show_tells_all_of_one(client: CommandClient, served: Served) -> None:
    name = take(client, served)
    mount(client, served)
    client.says(ALICE, TEAM_A, '/snapshot schedule imagenet "0 2 * * *" --keep 7d')
    claim_seen = client.application.clusters["default"].view.get(PVCS, "imagenet", "team-a")
    assert claim_seen is not None
    assert claim_seen.metadata.creation_timestamp is not None
    shown = client.says(ALICE, TEAM_A, "/pvc show imagenet")
    assert shown.splitlines()[0] == "PVC imagenet · Bound"
    told = facts(shown)
    schedule = told.pop("Schedule")
    assert schedule.startswith("`0 2 * * *` in UTC, kept 7d; next ")
    assert told == {
        "PVC": "`team-a/imagenet`",
        "Cluster": "default",
        "Size": "1 TiB",
        "Class": "standard (csi.playground)",
        "Can grow": "yes",
        "Access": "ReadWriteMany",
        "Created": f"{claim_seen.metadata.creation_timestamp:%Y-%m-%d %H:%M} UTC",
        "PV": f"`{claim_seen.spec.volume_name}`, deleted with the PVC",
        "Monthly cost": "102.40",
        "Mounted by": f"run `lane` (@{ALICE}), 2 pods; pod `merge`, pending",
        "Snapshots": f"1: `{name}` of 2026-11-21 12:00 UTC",
    }


def test_show_names_runs_without_pods(client: CommandClient) -> None:
    submit = "--image ghcr.io/acme/lane:3.1 --gpus 1 --pvc imagenet:/data"
    client.says(ALICE, TEAM_A, f"/train submit old {submit} -- python train.py")

    def end(session: Session) -> None:
        run = session.exec(select(Run)).one()
        run.phase, run.started_at = RunPhase.SUCCEEDED, run.asked_at
        run.ended_at = run.asked_at + timedelta(hours=2)

    client.application.database.transaction(end)
    client.says(ALICE, TEAM_A, f"/train submit lane {submit}:ro -- python train.py")
    client.says(ALICE, TEAM_A, "/train submit other --image ghcr.io/acme/lane:3.1 -- true")
    told = facts(client.says(ALICE, TEAM_A, "/pvc show imagenet"))
    assert (told["Mounted by"], told["Runs"]) == (
        "no pod now",
        "`lane`: Pending, read-only; `old`: Succeeded in 2h",
    )
    assert "Runs" not in facts(client.says(ALICE, TEAM_A, "/pvc show team-a-data"))


def test_restored_pvc_names_its_source(client: CommandClient, served: Served) -> None:
    name = take(client, served)
    client.says(ALICE, TEAM_A, "/snapshot restore imagenet --as again")
    body = claim("again")
    body["spec"]["dataSourceRef"] = {
        "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name,
    }  # fmt: skip
    found = add_claim(client, served, body)

    def work(session: Session) -> datetime:
        row = session.exec(select(Restore)).one()
        row.uid = found.uid
        return row.asked_at

    asked_at = client.application.database.transaction(work)
    assert facts(client.says(ALICE, TEAM_A, "/pvc show again"))["Created from"] == (
        f"snapshot `{name}` of `imagenet`, by @{ALICE} {asked_at:%Y-%m-%d %H:%M} UTC"
    )
    assert facts(client.says(ALICE, TEAM_A, "/pvc show imagenet"))["Copies"] == "again"


def test_clones_by_others_name_their_source(client: CommandClient, served: Served) -> None:
    body = claim("mine")
    body["spec"]["dataSourceRef"] = {"kind": "PersistentVolumeClaim", "name": "imagenet"}
    add_claim(client, served, body)
    told = facts(client.says(ALICE, TEAM_A, "/pvc show mine"))
    assert told["Created from"] == "PVC `imagenet`"
    body = claim("traced")
    body["metadata"]["annotations"] = {
        labels.CLONED_FROM: "faces", labels.CLONED_FROM_NAMESPACE: "team-b",
    }  # fmt: skip
    add_claim(client, served, body)
    told = facts(client.says(ALICE, TEAM_A, "/pvc show traced"))
    assert told["Created from"] == "PVC `faces` in namespace team-b"


def test_caches_of_datasets_are_not_the_teams(client: CommandClient, served: Served) -> None:
    body = claim("chest-xray-v3")
    body["metadata"]["labels"] = {
        labels.MANAGED_BY: labels.MANAGER, labels.DATASET_SHARE: "share", labels.TEAM: "team-a",
    }  # fmt: skip
    add_claim(client, served, body)
    listed = client.says(ALICE, TEAM_A, "/pvc list").splitlines()
    assert listed[2] == (
        "1 PVC here is not the team's own, but of datasets or other teams: chest-xray-v3."
        " `/dataset usage` shows the caches of datasets."
    )
    assert [line.split()[0] for line in listed[4:]] == ["imagenet", "team-a-data"]
    assert client.says(ALICE, TEAM_A, "/pvc show chest-xray-v3").splitlines() == [
        "PVC chest-xray-v3 shows the cache of a dataset, which is shared.",
        "Name one of the team's own PVCs: `/pvc list` shows them.",
    ]


def test_wrong_names_are_answered_with_help(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/pvc show imagnet").splitlines() == [
        "There is no PVC imagnet in namespace team-a.",
        "Did you mean imagenet?",
    ]
    assert client.says(ALICE, TEAM_A, "/pvc show zebra").splitlines() == [
        "There is no PVC zebra in namespace team-a.",
        "`/pvc list` shows the team's PVCs.",
    ]
    assert client.says(ALICE, TEAM_A, "/pvc list --cluster west").splitlines() == [
        "team-a has no cluster west.",
        "It has: default.",
    ]


@pytest.mark.parametrize(
    ("person", "channel", "text"),
    [
        (DAN, TEAM_A, "/pvc list"),
        (ALICE, TEAM_B, "/pvc show imagenet"),
        (ALICE, TEAM_A, "/pvc list --team team-b"),
        (BOB, ELSEWHERE, "/pvc list"),
    ],
)
def test_others_see_nothing_of_a_team(
    client: CommandClient, person: str, channel: str, text: str
) -> None:
    assert "imagenet" not in client.says(person, channel, text)


def test_cluster_that_is_unread_is_told(client: CommandClient) -> None:
    client.application.clusters["default"].view.store(HOLDERS).synced = False
    assert client.says(ALICE, TEAM_A, "/pvc list").splitlines() == [
        "PVCs of team-a",
        "Cluster default has not been read yet, so its PVCs are missing here.",
    ]
    assert client.says(ALICE, TEAM_A, "/pvc show imagenet").splitlines() == [
        "The PVCs and pods of cluster default have not been read yet.",
        "Try again in a moment.",
    ]
