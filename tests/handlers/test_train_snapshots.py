"""/train submit --snapshot and resubmit --from-snapshot as people type them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, col, select

from bot.snapshots.tables import Restore, Snapshot, SnapshotPhase
from bot.training.tables import Run
from bot.training.tables import RunPhase as Running
from playground.cluster.story import snapshot_class
from tests.handlers.command_client import ALICE, BOB, ERIN, TEAM_A, TEAM_B, CommandClient, opened
from tests.playground.cluster.served import Served

SUBMIT = "/train submit fit --image ghcr.io/acme/lane:3.1 --pvc imagenet:/data"


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def runs(client: CommandClient) -> list[Run]:
    newest_last = select(Run).order_by(col(Run.id))
    return client.application.database.read(lambda s: list(s.exec(newest_last)))


def has_ended(client: CommandClient) -> Snapshot:
    """The run has succeeded, and the snapshot of its end is ready."""

    def work(session: Session) -> Snapshot:
        run = session.exec(select(Run)).one()
        run.phase, run.started_at, run.ended_at = Running.SUCCEEDED, run.asked_at, run.asked_at
        row = Snapshot(
            workspace_id=run.workspace_id, team=run.team, person=run.person, channel=run.channel,
            cluster=run.cluster, namespace=run.namespace, claim_name="imagenet", claim_uid="claim",
            storage_class="standard", driver="csi.playground", capacity_bytes=2**40,
            name=f"imagenet-{run.id[-10:]}", run_id=run.id, run=run.reference, uid="uid",
            data=[["chest-xray@v3", "sha256:0a1b"]], asked_at=run.asked_at, since=run.asked_at,
            phase=SnapshotPhase.READY, taken_at=run.asked_at, size_bytes=2**40,
        )  # fmt: skip
        session.add(row)
        return row

    return client.application.database.transaction(work)


def test_keeping_the_end_is_on_its_card(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, f"{SUBMIT} --snapshot /data --snapshot-on always")
    assert said.startswith("Submitted run `fit`")
    shown = client.says(ALICE, TEAM_A, "/train show fit")
    assert "  Snapshot   of `imagenet` when it ends" in shown.splitlines()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ("--snapshot nothing", "There is no PVC nothing in namespace team-a."),
        ("--snapshot /out", "No PVC is mounted at /out."),
        (
            "--snapshot imagenet --snapshot-on never",
            "`--snapshot-on` takes one of `success`, `always`, not `never`.",
        ),
        (
            "--snapshot-keep 30d",
            "`--snapshot-keep` applies to a snapshot, and none is requested.",
        ),
        (
            "--snapshot Results",
            (
                "`--snapshot` takes the name of a PVC such as `results`, or the path where the run"
                " mounts one, not `Results`."
            ),
        ),
    ],
)
def test_what_cannot_be_kept_is_said(client: CommandClient, options: str, answer: str) -> None:
    assert client.says(ALICE, TEAM_A, f"{SUBMIT} {options}").splitlines()[0] == answer
    assert runs(client) == []


def test_one_command_starts_from_the_end(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"{SUBMIT} --snapshot imagenet")
    row = has_ended(client)
    delivery = "delivered twice"
    said = client.says(ERIN, TEAM_A, "/train resubmit fit --from-snapshot", delivery=delivery)
    client.says(ERIN, TEAM_A, "/train resubmit fit --from-snapshot", delivery=delivery)
    _, again = runs(client)
    made = f"imagenet-{again.id[-10:]}"
    assert said.splitlines()[1] == (
        f"It starts from snapshot `{row.name}` of run fit: PVC `{made}` is created from it for"
        " /data, and the run waits for that PVC."
    )
    (restore,) = client.application.database.read(lambda s: list(s.exec(select(Restore))))
    assert (restore.run_id, restore.run, restore.claim_name) == (again.id, "fit#2", made)
    shown = client.says(ALICE, TEAM_A, f"/snapshot show {row.name}").splitlines()
    assert [
        each.strip() for each in shown if each.startswith(("  Run ", "  Data", "  Restored "))
    ] == [
        "Run            `fit`",
        "Data           `chest-xray@v3` sha256:0a1b",
        "Restored size  at least 1 TiB",
        f"Restored       `{made}` for run fit#2, asked",
    ]
    assert f"From       snapshot `{row.name}` of run `fit`" in client.says(
        ALICE, TEAM_A, "/train show fit"
    )
    assert "  Restored for  fit#2" in client.says(ALICE, TEAM_A, "/train show fit#1").splitlines()
    exported = client.says(ALICE, TEAM_A, "/train export fit")
    assert f'"snapshot": "{row.name}"' in exported


def test_nobody_else_starts_from_it(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"{SUBMIT} --snapshot imagenet")
    row = has_ended(client)
    said = client.says(BOB, TEAM_B, "/train resubmit fit --from-snapshot --team team-a")
    assert said.splitlines()[0] == "You are not a member of team-a."
    said = client.says(ALICE, TEAM_A, "/train resubmit fit --from-snapshot nothing")
    assert said.splitlines() == ["team-a has no snapshot nothing.", f"It has: {row.name}."]
    assert len(runs(client)) == 1
