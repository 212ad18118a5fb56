"""Snapshots whose time is up, and that others delete, while the cluster shows something else."""

from datetime import timedelta

import pytest

from bot.errors import UserError
from bot.snapshots.snapshots.service import expire
from bot.snapshots.tables import RestorePhase, Snapshot, SnapshotPhase
from playground.cluster.story import snapshot_class, storage_class
from tests.bot.snapshots.rig import CLAIM, CLAIMS, TAKEN, Rig

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def two(rig: Rig) -> tuple[Snapshot, Snapshot]:
    """An older snapshot whose time is up, and the newest."""
    older = rig.taken(keep=HOUR)
    rig.pass_time(hours=1)
    return older, rig.taken()


def expired(rig: Rig) -> None:
    """The job goes by, and what follows from it."""
    rig.do(lambda session: expire(session, rig.clock.now()))
    rig.pass_time(seconds=10)


def test_what_expired_and_is_used_waits_in_silence(rig: Rig) -> None:
    rig.world.create("storageclasses", storage_class("slow", seconds=6000))
    older, _ = two(rig)
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": older.name}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "slow",
        "resources": {"requests": {"storage": "1Ti"}},
        "dataSourceRef": source,
    }
    rig.world.create(CLAIMS, {"metadata": {"name": "theirs"}, "spec": spec}, "team-a")
    expired(rig)
    row = rig.found(older.id)
    assert (row.phase, row.wanted, row.obstacle) == (
        SnapshotPhase.READY, "kept", "It was not deleted. PVC theirs is being created from it.",
    )  # fmt: skip
    assert row.keep_until is not None
    assert row.keep_until - rig.clock.now() > DAY - HOUR
    assert [purpose for purpose in rig.notes(row.id) if purpose.startswith("stayed")] == []
    rig.pass_time(hours=25)
    expired(rig)
    assert rig.found(row.id).phase == SnapshotPhase.DELETED


def test_the_last_in_the_cluster_does_not_expire(rig: Rig) -> None:
    older, newest = two(rig)
    rig.world.delete(TAKEN, newest.name, "team-a")
    rig.do(lambda session: expire(session, rig.clock.now()))
    rig.pass_time(minutes=1)
    assert (rig.found(newest.id).phase, rig.objects()) == (SnapshotPhase.DELETED, [older.name])
    assert rig.found(older.id).obstacle == (
        "It was not deleted. It is the newest snapshot of imagenet in the cluster."
    )


def test_what_others_delete_is_not_usable(rig: Rig) -> None:
    older, newest = two(rig)
    rig.world.nature.break_snapshots("csi-snapclass", "", kept="busy")
    rig.world.delete(TAKEN, newest.name, "team-a")
    rig.pass_time(minutes=1)
    row = rig.found(newest.id)
    assert (row.phase, row.is_usable, row.is_live) == (SnapshotPhase.DELETING, False, True)
    assert rig.card(newest.id).splitlines()[:2] == [
        f"⚠️ Snapshot {newest.name} · Deleting",
        (
            "It is being deleted outside Quartermaster. It stays until its driver has deleted"
            " the storage snapshot and no PVC is being created from it (finalizers:"
            " volumesnapshot-as-source-protection, volumesnapshot-bound-protection)."
        ),
    ]
    with pytest.raises(UserError, match="cannot be restored"):
        rig.restore(row)
    expired(rig)
    rig.world.nature.mend_snapshots("csi-snapclass")
    rig.pass_time(minutes=5)
    row = rig.found(newest.id)
    assert (row.phase, row.reason, row.is_cleared) == (
        SnapshotPhase.DELETED, "It was deleted outside Quartermaster.", True,
    )  # fmt: skip
    assert (rig.found(older.id).phase, rig.objects()) == (SnapshotPhase.READY, [older.name])


def test_another_of_its_name_is_not_it(rig: Rig) -> None:
    row = rig.taken()
    body = {
        "metadata": {"name": row.name},
        "spec": {"source": {"persistentVolumeClaimName": CLAIM}},
    }
    rig.world.delete(TAKEN, row.name, "team-a")
    rig.outside.clock.moment += timedelta(seconds=5)
    rig.look()
    rig.world.create(TAKEN, body, "team-a")
    rig.pass_time(minutes=1)
    found = rig.found(row.id)
    assert (found.phase, found.reason, found.is_cleared) == (
        SnapshotPhase.DELETED, "It was deleted outside Quartermaster.", True,
    )  # fmt: skip
    assert (rig.objects(), "vanished" in rig.notes(row.id)) == ([row.name], True)


def test_a_killed_step_still_tells_the_class(rig: Rig) -> None:
    rig.world.delete("volumesnapshotclasses", "csi-snapclass")
    rig.world.create("volumesnapshotclasses", snapshot_class("keeps", policy="Retain"))
    row_id = rig.take()
    rig.taking.step(row_id)  # killed before it was saved
    rig.restart()
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    assert (row.phase, row.snapshot_class, row.deletion_policy) == (
        SnapshotPhase.READY,
        "keeps",
        "Retain",
    )


def test_what_cannot_be_begun_ends(rig: Rig) -> None:
    rig.set(restored_within="3h")
    row = rig.taken()
    rig.world.forbid("create", TAKEN)
    rig.world.forbid("create", CLAIMS)
    late_id, made_id = rig.take(), rig.restore(row, name="again")
    for hours in (0, 0, 2, 2):
        rig.outside.clock.moment += timedelta(hours=hours, minutes=2)
        rig.run()
    late, made = rig.found(late_id), rig.made(made_id)
    assert (late.phase, made.phase) == (SnapshotPhase.FAILED, RestorePhase.FAILED)
    assert late.reason.startswith(
        f"It could not be started within 1h. Creating VolumeSnapshot {late.name} in namespace"
        " team-a on cluster default: 403 Forbidden"
    )
    assert made.reason.startswith(
        "It could not be started within 3h. Creating PersistentVolumeClaim again in namespace"
        " team-a on cluster default: 403 Forbidden"
    )
    rig.pass_time(seconds=10)
    assert (rig.found(late_id).is_cleared, rig.made(made_id).is_cleared) == (True, True)
    rig.delete(row)
