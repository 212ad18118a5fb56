"""/qm leftovers as people type it: what costs and is not used, by team and of the platform."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import Session, select

from bot.datasets.caches.tables import Cache, Orphan
from bot.snapshots.tables import Snapshot, SnapshotPhase
from bot.volumes.tables import SeenPool
from playground.cluster.story import snapshot_class
from tests.bot.datasets.caches.rows import add_cached
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.handlers.gpu_past import IDLE, begun_half_an_hour_ago, held, sampled, submitted
from tests.handlers.test_pvc import PRICES
from tests.playground.cluster.served import Served

SETTINGS = f"""\
{PRICES}anf:
  subscription: 4e04e5b5-0000-4000-8000-000000000000
  accounts: [ml-rg/ml]
  price_per_gib_month: {{Premium: 0.3}}
training: {{prices: {{currency: EUR, per_gpu_hour: {{h100: 2.5}}}}}}
"""
BY_LEADS = "`/qm pvc delete PVC --snapshot-first` deletes a PVC. Leads and admins may do that."
BY_MEASURE = "Idle GPUs are unknown where no GPU metrics are configured."


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, SETTINGS) as opened_client:
        yield opened_client


def taken(client: CommandClient, claim: str, days: int) -> str:
    """A ready snapshot that Alice took so many days ago and that has no end; its name."""
    client.says(ALICE, TEAM_A, f"/snapshot create {claim} --keep off")

    def work(session: Session) -> str:
        row = session.exec(select(Snapshot).where(Snapshot.claim_name == claim)).one()
        row.phase = SnapshotPhase.READY
        row.asked_at = row.taken_at = datetime.now(UTC) - timedelta(days=days)
        return row.name

    return client.application.database.transaction(work)


def cached(client: CommandClient, days: int, team: str = "team-a", name: str = "xray") -> str:
    """The id of a ready cache that was last used so many days ago."""

    def work(session: Session) -> str:
        row: Cache = add_cached(session, name, team=team)
        row.used_at = datetime.now(UTC) - timedelta(days=days)
        return row.id

    return client.application.database.transaction(work)


def squeezed(text: str) -> list[str]:
    """The lines of an answer, with one space between the columns of its table."""
    return [" ".join(line.split()) for line in text.splitlines()]


def pass_two_days(client: CommandClient) -> None:
    """Two days and three hours, so that a slow test reads no other time."""
    client.application.clock.shift(timedelta(days=2, hours=3))


def leave_over(session: Session) -> None:
    """An unneeded PVC of datasets, a file system of a cloud, and two capacity pools."""
    now = datetime.now(UTC)
    orphan = Orphan(
        workspace_id="T0QM", cluster="default", kind="PersistentVolumeClaim",
        namespace="datasets", name="old-1", uid="1", storage_class="standard",
        size_bytes=100 * 2**30, monthly_price=10.0, found_at=now - timedelta(days=2, hours=1),
    )  # fmt: skip
    system = Orphan(
        workspace_id="T0QM", cluster="default", kind="FSx file system", namespace="",
        name="fs-0123", uid="2", size_bytes=1200 * 2**30, monthly_price=168.0,
        command="aws fsx delete-file-system --file-system-id fs-0123",
        found_at=now - timedelta(days=3, hours=1),
    )  # fmt: skip
    pools = [
        SeenPool(
            id=name, name=name, size_bytes=4 * 2**40, taken_bytes=taken, level="Premium",
            seen_at=now,
        )
        for name, taken in (("pool-a", 2**40), ("pool-b", 4 * 2**40))
    ]  # fmt: skip
    session.add_all([orphan, system, *pools])


def test_new_claims_are_no_leftovers_yet(client: CommandClient) -> None:
    assert squeezed(client.says(BOB, TEAM_B, "/qm leftovers")) == [
        "Leftovers of team-b",
        "Nothing of team-b is known to cost and to be unused.",
        BY_MEASURE,
    ]


def test_leftovers_of_all_kinds_are_priced(client: CommandClient) -> None:
    run_id = submitted(client, "lane")
    begun_half_an_hour_ago(client, run_id)
    since = datetime.now(UTC) - timedelta(hours=5)
    lane = held(client, "lane", person=ALICE, run_id=run_id, idle_since=since)
    sampled(client, 29, {lane: IDLE})
    snapshot = taken(client, "team-a-data", 38)
    cached(client, 7)
    pass_two_days(client)
    assert squeezed(client.says(ALICE, TEAM_A, "/qm leftovers")) == [
        "Leftovers of team-a",
        "Total: 3,884.80 EUR a month, for those with a known price.",
        "Each button asks first, and checks again that nothing needs it.",
        BY_LEADS,
        BY_MEASURE,
        "What Kind Amount State Monthly cost",
        "lane Run 2 GPUs at 0 % for 2d 8h 3,650.00",
        "imagenet PVC 1 TiB last mounted by no recent run, created 2d 3h ago 102.40",
        "team-a-data PVC 1 TiB last mounted by no recent run, created 2d 3h ago 102.40",
        "xray@v3 Cache 300 GiB unused for 9d 3h 30.00",
        f"{snapshot} Snapshot of 1 TiB taken 40d 3h ago unknown",
        f"[Stop lane] [Evict xray@v3] [Delete {snapshot}]",
    ]


def test_unused_claims_ask_before_they_go(client: CommandClient) -> None:
    pass_two_days(client)
    said = squeezed(client.says(BOB, TEAM_B, "/qm leftovers"))
    assert said == [
        "Leftovers of team-b",
        "Total: 204.80 EUR a month.",
        "Each button asks first, and checks again that nothing needs it.",
        BY_MEASURE,
        "What Kind Amount State Monthly cost",
        "imagenet PVC 1 TiB last mounted by no recent run, created 2d 3h ago 102.40",
        "team-b-data PVC 1 TiB last mounted by no recent run, created 2d 3h ago 102.40",
        "[Delete imagenet ...] [Delete team-b-data ...]",
    ]


def test_young_snapshots_and_used_caches_stay_out(client: CommandClient) -> None:
    taken(client, "team-a-data", 20)
    cached(client, 0)
    cached(client, 9, team="team-b", name="secret")
    assert squeezed(client.says(ALICE, TEAM_A, "/qm leftovers")) == [
        "Leftovers of team-a",
        "Nothing of team-a is known to cost and to be unused.",
        BY_MEASURE,
    ]


def test_only_admins_read_leftovers_of_the_platform(client: CommandClient) -> None:
    client.application.database.transaction(leave_over)
    said = squeezed(client.says(CAROL, APPROVALS, "/qm leftovers --platform"))
    assert said == [
        "Leftovers of the platform",
        "Total: 1,099.60 EUR a month.",
        "Each button asks first, and checks again that nothing needs it.",
        (
            "ANF pool pool-a: Azure bills the whole pool."
            " Make it smaller in Azure, or delete an empty one."
        ),
        (
            "FSx file system fs-0123: The bot does not delete it."
            " To delete it permanently: `aws fsx delete-file-system --file-system-id fs-0123`"
        ),
        "Idle nodes are unknown for now in: default.",
        "What Kind Amount State Monthly cost",
        "pool-a ANF pool 3 TiB free of 4 TiB 921.60",
        "fs-0123 FSx file system 1.2 TiB not needed, found 3d 1h ago 168.00",
        "datasets/old-1 PersistentVolumeClaim 100 GiB not needed, found 2d 1h ago 10.00",
        "[Remove old-1]",
    ]


def test_members_are_refused_the_platforms_leftovers(client: CommandClient) -> None:
    said = client.says(BOB, TEAM_B, "/qm leftovers --platform")
    assert said.startswith("This requires the right dataset.clean")


def test_people_of_other_teams_read_no_leftovers(client: CommandClient) -> None:
    said = client.says(BOB, TEAM_A, "/qm leftovers")
    assert said.startswith("You are not a member of team-a.")
