"""Snapshots from the command to the end, and what becomes of their objects."""

from datetime import timedelta
from typing import Any

import pytest

from bot.errors import UserError
from bot.snapshots.snapshots.service import Pinning
from bot.snapshots.tables import SnapshotPhase
from playground.cluster.story import snapshot_class
from playground.ledger import Fault
from tests.bot.ground import ALICE, BOB, DENIAL, ERIN, TEAM_B
from tests.bot.snapshots.rig import CLAIM, CLAIMS, TAKEN, Rig


def refusal(rig: Rig, **options: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.take(**options)
    return caught.value.message, caught.value.hint


def test_a_snapshot_is_taken_and_told(rig: Rig) -> None:
    row_id = rig.take(note="before cleaning", keep=timedelta(days=30))
    rig.pass_time(seconds=3)
    assert (rig.found(row_id).phase, rig.found(row_id).taken_at) == (SnapshotPhase.TAKING, None)
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    (found,) = rig.world.list(TAKEN, "team-a")
    assert found["metadata"]["name"] == row.name == f"imagenet-{row_id[-10:]}"
    assert found["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "quartermaster",
        "quartermaster.dev/installation": "0123456789abcdef",
        "quartermaster.dev/snapshot": row_id,
        "quartermaster.dev/team": "team-a",
        "quartermaster.dev/person": ALICE,
    }
    source = {"persistentVolumeClaimName": CLAIM}
    assert found["spec"] == {"volumeSnapshotClassName": "csi-snapclass", "source": source}
    assert (row.phase, row.size_bytes) == (SnapshotPhase.READY, 2**40)
    assert row.uid == found["metadata"]["uid"]
    assert rig.card(row_id).splitlines() == [
        f"✅ Snapshot {row.name} · Ready",
        "  PVC            `team-a/imagenet`",
        "  Volume         1 TiB on standard",
        "  Note           before cleaning",
        "  Taken          2026-11-21 12:00 UTC",
        "  Restored size  at least 1 TiB",
        "  Requested by   Alice",
        "  Requested      2026-11-21 12:00 UTC",
        "  Class          csi-snapclass (csi.playground)",
        "  Kept until     2026-12-21 12:00 UTC",
        "  [Restore] [Delete]",
    ]
    assert rig.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> The snapshot of imagenet is ready: `{row.name}`, as of"
            " <!date^1795262447^{date_short_pretty} {time}|2026-11-21 12:00 UTC>."
        ),
        f"To restore it to a new PVC: `/snapshot restore {row.name}`",
    ]


@pytest.mark.parametrize("verb", ["create volumesnapshots", "delete volumesnapshots"])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_double_nothing(rig: Rig, verb: str, fault: Fault) -> None:
    rig.outside.ledger.by_name[verb] = [fault]
    row = rig.taken()
    rig.pass_time(seconds=20)
    assert (rig.found(row.id).phase, rig.objects()) == (SnapshotPhase.READY, [row.name])
    rig.delete(rig.found(row.id))
    rig.pass_time(minutes=1)
    assert (rig.found(row.id).phase, rig.objects()) == (SnapshotPhase.DELETED, [])
    assert rig.found(row.id).is_cleared


def test_an_error_is_shown_until_the_deadline(rig: Rig) -> None:
    rig.world.nature.break_snapshots("csi-snapclass", "backend busy")
    row_id = rig.take()
    rig.pass_time(minutes=2)
    row = rig.found(row_id)
    assert row.phase == SnapshotPhase.TAKING
    assert row.obstacle.endswith('"backend busy".')
    rig.pass_time(hours=1)
    row = rig.found(row_id)
    assert (row.phase, row.reason.split(". ")[0]) == (
        SnapshotPhase.FAILED, "It was not ready within 1h",
    )  # fmt: skip
    assert row.reason.endswith('"backend busy".')
    assert (row.is_cleared, rig.objects()) == (True, [])
    finalizers = rig.claim(CLAIM)["metadata"]["finalizers"]
    assert finalizers == ["kubernetes.io/pvc-protection"]
    assert rig.notes(row_id)["ended"].startswith(
        f"<@{ALICE}> The snapshot of imagenet failed. It was not ready within 1h."
    )


def test_a_driver_that_recovers_is_waited_for(rig: Rig) -> None:
    rig.world.nature.break_snapshots("csi-snapclass", "backend busy")
    row_id = rig.take()
    rig.pass_time(minutes=20)
    assert "This is late. Most drivers take seconds." in rig.card(row_id)
    rig.world.nature.mend_snapshots("csi-snapclass")
    rig.pass_time(minutes=2)
    row = rig.found(row_id)
    assert (row.phase, row.obstacle, row.is_late) == (SnapshotPhase.READY, "", False)


def test_classes_are_looked_at_first(rig: Rig) -> None:
    rig.set(classes={"csi.playground": "gold"})
    assert refusal(rig) == (
        (
            "The cluster has no VolumeSnapshotClass gold, which snapshots.classes in"
            " quartermaster.yaml names for csi.playground."
        ),
        "A platform admin has to create it, or correct the setting.",
    )
    rig.world.create("volumesnapshotclasses", snapshot_class("gold", "csi.other"))
    assert refusal(rig)[0] == (
        "VolumeSnapshotClass gold is for csi.other, but the volume of this PVC uses csi.playground."
    )
    rig.set()
    rig.world.create("volumesnapshotclasses", snapshot_class("silver"))
    assert refusal(rig) == (
        (
            "The cluster has 2 default VolumeSnapshotClasses for csi.playground: csi-snapclass,"
            " silver."
        ),
        (
            "A platform admin has to choose one: set snapshots.classes in quartermaster.yaml, or"
            " leave only one default."
        ),
    )
    for name in ("csi-snapclass", "silver"):
        rig.world.delete("volumesnapshotclasses", name)
    assert refusal(rig)[0] == (
        "The cluster has no VolumeSnapshotClass for csi.playground, the driver of this PVC's"
        " volume. It has some for csi.other."
    )


def test_a_class_that_goes_meanwhile_is_told(rig: Rig) -> None:
    row_id = rig.take()
    rig.world.delete("volumesnapshotclasses", "csi-snapclass")
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    assert (row.phase, row.is_cleared, rig.objects()) == (SnapshotPhase.FAILED, True, [])
    assert row.unblock == "A platform admin has to create one."


def test_pvcs_without_a_state_are_refused(rig: Rig) -> None:
    assert refusal(rig, claim="imagnet") == (
        "There is no PVC imagnet in namespace team-a.", "Did you mean imagenet?",
    )  # fmt: skip
    late = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "nowhere",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    rig.world.create(CLAIMS, {"metadata": {"name": "late"}, "spec": late}, "team-a")
    assert refusal(rig, claim="late")[0] == (
        "PVC late has no volume yet, so there is nothing to take a snapshot of."
    )


def test_the_limit_of_a_driver_is_watched(rig: Rig) -> None:
    rig.set(limits={"csi.playground": 2})
    row, _ = rig.taken(), rig.taken()
    assert refusal(rig) == (
        "PVC imagenet has 2 snapshots; a volume of csi.playground can have 2.",
        "Delete some of them first.",
    )
    rig.delete(row)
    rig.pass_time(minutes=1)
    assert rig.taken().phase == SnapshotPhase.READY


def test_two_people_at_once_get_one(rig: Rig) -> None:
    row_id = rig.take()
    message, _ = refusal(rig, person=ERIN)
    assert message == (f"A snapshot of imagenet is already being taken: imagenet-{row_id[-10:]}.")


def test_a_name_of_others_is_left_alone(rig: Rig) -> None:
    row_id = rig.take()
    body = {
        "metadata": {"name": f"imagenet-{row_id[-10:]}"},
        "spec": {"source": {"persistentVolumeClaimName": CLAIM}},
    }
    rig.world.create(TAKEN, body, "team-a")
    rig.pass_time(seconds=30)
    row = rig.found(row_id)
    assert (row.phase, row.is_cleared, rig.objects()) == (SnapshotPhase.FAILED, True, [row.name])
    assert row.reason == (
        f"Namespace team-a already has a VolumeSnapshot {row.name} that Quartermaster did not"
        " create. Nothing was changed."
    )


def test_a_stranger_deletes_it_and_people_hear(rig: Rig) -> None:
    row = rig.taken()
    rig.world.delete(TAKEN, row.name, "team-a")
    rig.pass_time(minutes=1)
    row = rig.found(row.id)
    assert (row.phase, row.reason, row.is_cleared) == (
        SnapshotPhase.DELETED, "It was deleted outside Quartermaster.", True,
    )  # fmt: skip
    assert rig.notes(row.id)["vanished"] == (
        f"<@{ALICE}> `{row.name}`: It was deleted outside Quartermaster. The state that it held"
        " is lost."
    )


def test_a_stuck_deletion_says_what_it_waits_for(rig: Rig) -> None:
    row = rig.taken()
    rig.world.nature.break_snapshots("csi-snapclass", "", kept="busy")
    rig.delete(row)
    rig.pass_time(minutes=5)
    row = rig.found(row.id)
    assert (row.phase, row.obstacle) == (
        SnapshotPhase.DELETING,
        (
            "It still exists. It stays until its driver has deleted the storage snapshot and no"
            " PVC is being created from it (finalizers: volumesnapshot-as-source-protection,"
            " volumesnapshot-bound-protection)."
        ),
    )
    rig.world.nature.mend_snapshots("csi-snapclass")
    rig.pass_time(minutes=5)
    assert (rig.found(row.id).phase, rig.objects()) == (SnapshotPhase.DELETED, [])


def test_others_delete_only_what_they_may(rig: Rig) -> None:
    row = rig.taken(person=ERIN)
    with pytest.raises(UserError, match=f"<@{ERIN}> took {row.name}"):
        rig.delete(row)
    with pytest.raises(UserError, match="This snapshot belongs to team-a"):
        rig.delete(row, BOB, TEAM_B)
    rig.delete(row, ERIN)
    with pytest.raises(UserError, match="is being deleted"):
        rig.delete(row, ERIN)


def test_a_pin_keeps_it_from_everybody(rig: Rig) -> None:
    row = rig.taken(keep=timedelta(hours=1))
    by, now = rig.caller(), rig.clock.now()
    asked = Pinning("paper under review.", now + timedelta(days=90))
    rig.with_row(row, lambda s, found: rig.snapshots.pin(s, by, found, asked, now))
    with pytest.raises(UserError) as caught:
        rig.delete(row, ERIN)
    assert (caught.value.message, caught.value.hint) == (
        (
            f"{row.name} cannot be deleted now. Pinned by <@{ALICE}> for another 90d: paper under"
            " review."
        ),
        f"Wait until that has ended, or remove pins: `/snapshot unpin {row.name}`.",
    )
    assert f"Pinned by @{ALICE} for another 90d: paper under review." in rig.card(row.id)


def test_a_policy_that_denies_ends_it(rig: Rig) -> None:
    rig.deny("volumesnapshots")
    row_id = rig.take()
    rig.pass_time(minutes=3)
    row = rig.found(row_id)
    assert (row.phase, DENIAL in row.reason) == (SnapshotPhase.FAILED, True)
