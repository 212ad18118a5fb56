"""/snapshot as people type it; snapshots themselves are tested where they are made."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, select

from bot.cluster.resources import SNAPSHOTS
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.snapshots.tables import Restore, Snapshot, SnapshotPhase
from playground.cluster.cluster import Cluster
from playground.cluster.objects.kinds import VOLUME_SNAPSHOT
from playground.cluster.story import claim, snapshot_class, storage_class
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

IN_PLACE = "  snapshot_restore: {approvers: {people: [U0CAROL]}}\n"
STRANGE = (
    "You are not a member of team-a.\n"
    "Ask a platform admin to add you to the team, or use your own team's channel."
)


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def rows(client: CommandClient) -> list[Snapshot]:
    return client.application.database.read(lambda s: list(s.exec(select(Snapshot))))


def made(client: CommandClient) -> list[Restore]:
    return client.application.database.read(lambda s: list(s.exec(select(Restore))))


def ready(client: CommandClient) -> Snapshot:
    """A snapshot of imagenet by Alice that was taken."""
    client.says(ALICE, TEAM_A, '/snapshot create imagenet --note "before cleaning"')
    (row,) = rows(client)

    def work(session: object) -> None:
        assert hasattr(session, "get_one")
        found = session.get_one(Snapshot, row.id)
        found.phase, found.taken_at, found.uid = SnapshotPhase.READY, found.asked_at, "uid"
        found.size_bytes = 2**40

    client.application.database.transaction(work)
    return row


def taken(client: CommandClient, row: Snapshot, world: Cluster) -> None:
    """The snapshot of a row is ready in the cluster, and the bot sees it."""
    source = {"source": {"persistentVolumeClaimName": row.claim_name}}
    key = (row.namespace, row.name)
    world.create("volumesnapshots", {"metadata": {"name": row.name}, "spec": source}, row.namespace)
    status = {"readyToUse": True, "creationTime": "2026-11-21T12:00:00Z"}
    world.inside.world.change(VOLUME_SNAPSHOT, key, lambda obj: obj.update(status=status))
    cluster = client.application.clusters["default"]

    def seen() -> VolumeSnapshot | None:
        found = cluster.view.get(SNAPSHOTS, row.name, row.namespace)
        return found if found is not None and found.status.ready_to_use else None

    eventually(seen)

    def work(session: Session) -> None:
        there, found = session.get_one(Snapshot, row.id), seen()
        assert found is not None
        there.phase, there.uid = SnapshotPhase.READY, found.uid
        there.taken_at = found.status.creation_time

    client.application.database.transaction(work)


def test_taking_says_how_it_is_followed(client: CommandClient) -> None:
    said = client.says(ALICE, TEAM_A, '/snapshot create imagenet --note "before cleaning"')
    (row,) = rows(client)
    assert said.splitlines() == [
        f"Taking a snapshot of `imagenet`: `{row.name}`.",
        (
            f"Its card in this channel and `/snapshot show {row.name}` show the progress. It is"
            " kept until it is deleted manually."
        ),
    ]
    assert (row.note, row.channel, row.person, row.team) == (
        "before cleaning", TEAM_A, ALICE, "team-a",
    )  # fmt: skip
    again = client.says(ALICE, TEAM_A, "/snapshot create imagenet")
    assert again.splitlines()[0] == (f"A snapshot of imagenet is already being taken: {row.name}.")


def test_listing_and_showing_name_everything(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/snapshot list").splitlines()[1] == (
        "team-a has no snapshots. Take one: `/snapshot create results`"
    )
    row = ready(client)
    assert row.name in client.says(ALICE, TEAM_A, "/snapshot list imagenet")
    shown = client.says(ALICE, TEAM_A, "/snapshot show imagenet").splitlines()
    assert "  Note           before cleaning" in shown
    assert shown[:2] == [
        f"✅ Snapshot {row.name} · Ready",
        "It is the newest snapshot of imagenet.",
    ]
    assert client.says(ALICE, TEAM_A, "/snapshot show imagnet").splitlines()[0] == (
        "team-a has no snapshot imagnet."
    )


def test_deleting_asks_and_a_click_does_it(client: CommandClient) -> None:
    row = ready(client)
    asked = client.says(ALICE, TEAM_A, "/snapshot delete imagenet")
    assert asked.splitlines() == [
        (
            f"Deleting `{row.name}` loses the state of imagenet that it holds. This cannot be"
            " undone. The storage snapshot is deleted too."
        ),
        "It is the newest snapshot of imagenet.",
        "  [Delete]",
    ]
    assert client.says(ALICE, TEAM_A, "/snapshot delete imagenet") == asked
    assert client.clicks(BOB, TEAM_B, "snapshot.delete", row.id) == STRANGE
    assert rows(client)[0].wanted == "kept"
    assert client.clicks(ERIN, TEAM_A, "snapshot.delete", row.id) == (
        f"Deleting `{row.name}`. Its card shows the progress."
    )
    assert client.clicks(ALICE, TEAM_A, "snapshot.delete", row.id).splitlines()[0] == (
        f"{row.name} is being deleted."
    )


def test_restoring_and_cloning_name_the_mount(client: CommandClient) -> None:
    row = ready(client)
    said = client.says(ALICE, TEAM_A, "/snapshot restore imagenet --as again --size 2Ti")
    assert said.splitlines() == [
        f"Creating PVC `again` from `{row.name}`.",
        "Its card in this channel shows the progress. Then mount it with `--pvc again:/mnt`.",
    ]
    assert client.says(ALICE, TEAM_A, "/snapshot delete imagenet").splitlines()[0] == (
        f"{row.name} cannot be deleted now. The restore to PVC again needs it."
    )
    assert client.clicks(ALICE, TEAM_A, "snapshot.restore", row.id).startswith(
        "Creating PVC `imagenet-"
    )
    assert client.says(ALICE, TEAM_A, "/snapshot clone imagenet --as mine").splitlines()[0] == (
        "Creating PVC `mine` from `imagenet`."
    )
    assert [each.size_bytes for each in made(client)] == [2 * 2**40, 2**40, 2**40]


def test_pins_are_ended_by_their_owners(client: CommandClient) -> None:
    row = ready(client)
    said = client.says(ALICE, TEAM_A, '/snapshot pin imagenet --reason "paper" --for 90d')
    assert said.splitlines()[1] == f"`/snapshot unpin {row.name}` removes the pin."
    assert client.says(ERIN, TEAM_A, "/snapshot unpin imagenet").splitlines() == [
        f"You have not pinned {row.name}.",
        f"It is pinned by @{ALICE}; a lead can add --all.",
    ]
    assert client.says(ERIN, TEAM_A, "/snapshot unpin imagenet --all") == (
        f"`{row.name}` is no longer pinned by @{ALICE}."
    )


def test_other_teams_and_channels_are_refused(client: CommandClient) -> None:
    ready(client)
    assert client.says(BOB, TEAM_B, "/snapshot show imagenet").splitlines()[0] == (
        "team-b has no snapshot imagenet."
    )
    assert client.says(BOB, TEAM_B, "/snapshot create imagenet --team team-a") == STRANGE
    assert client.says(ALICE, ELSEWHERE, "/snapshot list").startswith(
        "This channel belongs to no team"
    )
    assert client.says(CAROL, TEAM_A, "/snapshot list").startswith("Snapshots of team-a")


def test_clusters_without_snapshots_say_so(plain_client: CommandClient) -> None:
    cluster = plain_client.application.clusters["default"]
    eventually(lambda: cluster.view.synced)
    assert plain_client.says(ALICE, TEAM_A, "/snapshot create imagenet").splitlines() == [
        "Cluster default takes no snapshots: it serves no VolumeSnapshots.",
        "A platform admin has to install the CSI snapshot controller and its CRDs.",
    ]


def test_in_place_is_explained_where_impossible(client: CommandClient) -> None:
    row = ready(client)
    said = client.says(ALICE, TEAM_A, "/snapshot restore imagenet --in-place").splitlines()
    assert said == [
        "Only Trident can revert a PVC in place, and imagenet uses csi.playground.",
        (
            "Restoring to a new PVC always works, and the old PVC stays: `/snapshot restore"
            f" {row.name} --as imagenet-before`."
        ),
    ]
    said = client.says(
        ALICE, TEAM_A, "/snapshot restore imagenet --in-place --as again"
    ).splitlines()
    assert said[0] == (
        "--as, --size, --class, --to and --read-only create a new PVC; --in-place does not."
    )
    assert client.says(CAROL, APPROVALS, "/approval list").splitlines()[1] == (
        "No requests are pending."
    )


def test_in_place_asks_before_it_is_asked(tmp_path: Path, served: Served) -> None:
    world = served.cluster
    world.install("snapshots", "trident")
    kind = storage_class("anf", seconds=0)
    world.create("storageclasses", kind | {"provisioner": "csi.trident.netapp.io"})
    world.create("volumesnapshotclasses", snapshot_class("anf", "csi.trident.netapp.io", seconds=0))
    body = claim("results")
    body["spec"]["storageClassName"] = "anf"
    world.create("persistentvolumeclaims", body, "team-a")
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, IN_PLACE) as client:
        client.says(ALICE, TEAM_A, "/snapshot create results")
        (row,) = rows(client)
        taken(client, row, world)
        said = client.says(ALICE, TEAM_A, "/snapshot restore results --in-place").splitlines()
        assert said[0].startswith(f"This reverts PVC `results` itself to `{row.name}`, as of ")
        assert said[0].endswith(". This cannot be undone.")
        assert said[-1] == "  [Request with a clone first] [Request without a clone]"
        assert client.clicks(BOB, TEAM_B, "snapshot.revert-saved", f"{row.id}:why") == STRANGE
        asked = client.clicks(ALICE, TEAM_A, "snapshot.revert-saved", f"{row.id}:a bad run")
        assert asked.splitlines()[0] == f"Requested to revert `results` to `{row.name}`."
        listed = client.says(CAROL, APPROVALS, "/approval list")
        assert f"`results` of team-a: revert to `{row.name}`, requested " in listed
        again = client.clicks(ALICE, TEAM_A, "snapshot.revert-unsaved", f"{row.id}:")
        assert again.splitlines()[0] == (f"@{ALICE} already requested a revert of PVC results.")


def test_cancelling_asks_and_a_click_does_it(client: CommandClient) -> None:
    row = ready(client)
    client.says(ALICE, TEAM_A, "/snapshot restore imagenet --as again")
    said = client.says(ALICE, TEAM_A, "/snapshot cancel again")
    assert said.splitlines() == [
        (
            f"PVC `again` is being created from {row.name}. Cancelling deletes it before it has a"
            " volume. If it gets a volume first, it stays."
        ),
        "  [Cancel it]",
    ]
    (restore,) = made(client)
    assert client.clicks(BOB, TEAM_B, "snapshot.cancel", restore.id) == STRANGE
    assert client.clicks(ALICE, TEAM_A, "snapshot.cancel", restore.id) == (
        "Cancelling PVC `again`. Its card shows the progress."
    )
    assert client.says(ALICE, TEAM_A, "/snapshot cancel other").splitlines() == [
        "team-a has no restore to PVC other in progress.",
        "In progress: again.",
    ]


def test_other_teams_are_for_members_of_both(client: CommandClient) -> None:
    row = ready(client)
    assert client.says(ALICE, TEAM_A, "/snapshot restore imagenet --to team-b").splitlines() == [
        "You are not a member of team-b.",
        "Ask a platform admin to add you to the team, or use your own team's channel.",
    ]
    assert client.says(CAROL, TEAM_A, "/snapshot restore imagenet --to team-b").splitlines()[0] == (
        "Kubernetes restores a snapshot only in its own namespace. Trident can restore one in"
        f" another namespace, but {row.name} uses csi.playground."
    )
    assert client.says(BOB, TEAM_B, "/snapshot restore imagenet --to team-a").splitlines()[0] == (
        "team-b has no snapshot imagenet."
    )
