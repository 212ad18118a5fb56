"""PVCs that are made from snapshots, and from other PVCs."""

from typing import Any

import pytest

from bot import holds
from bot.errors import UserError
from bot.snapshots.tables import SNAPSHOT, RestorePhase, Snapshot, SnapshotPhase
from playground.cluster.story import snapshot_class, storage_class
from playground.ledger import Fault
from tests.bot.ground import ALICE, ERIN
from tests.bot.snapshots.rig import CLAIM, CLAIMS, Rig

TRIDENT = "csi.trident.netapp.io"


def held(rig: Rig, row: Snapshot) -> int:
    return len(rig.do(lambda s: holds.on(s, SNAPSHOT, row.id, rig.clock.now())))


def refusal(rig: Rig, row: Snapshot, **options: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.restore(row, **options)
    return caught.value.message, caught.value.hint


def test_a_restore_holds_the_bytes_of_its_moment(rig: Rig) -> None:
    row = rig.taken()
    rig.write("tuesday")
    made_id = rig.restore(row, name="imagenet-monday")
    assert held(rig, row) == 1
    rig.pass_time(seconds=30)
    made = rig.made(made_id)
    assert (made.phase, rig.read("imagenet-monday"), rig.read(CLAIM)) == (
        RestorePhase.READY, "monday", "tuesday",
    )  # fmt: skip
    spec = rig.claim("imagenet-monday")["spec"]
    assert spec["accessModes"] == ["ReadWriteMany"]
    assert spec["dataSourceRef"] == {
        "apiGroup": "snapshot.storage.k8s.io",
        "kind": "VolumeSnapshot",
        "name": row.name,
    }
    assert (held(rig, row), made.is_cleared) == (0, True)
    assert rig.card(made_id).splitlines() == [
        f"✅ PVC imagenet-monday from {row.name} · Ready",
        "  PVC           `team-a/imagenet-monday`",
        f"  From          `{row.name}`",
        "  Snapshot of   `imagenet`",
        "  Taken         2026-11-21 12:00 UTC",
        "  Volume        1 TiB on standard, ReadWriteMany",
        "  Requested by  Alice",
        "  Requested     2026-11-21 12:00 UTC",
        "  Mount it      `--pvc imagenet-monday:/mnt`",
        "  Took          0s",
    ]
    assert rig.notes(made_id)["ended"].splitlines() == [
        f"<@{ALICE}> PVC `imagenet-monday` is ready. It holds the data of snapshot {row.name}.",
        (
            "To mount it: `--pvc imagenet-monday:/mnt`, for example `/train submit lane --image"
            " ghcr.io/acme/lane:3.1 --pvc imagenet-monday:/mnt`"
        ),
    ]


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_no_second_pvc(rig: Rig, fault: Fault) -> None:
    row = rig.taken()
    there = len(rig.objects(CLAIMS))
    rig.outside.ledger.by_name["create persistentvolumeclaims"] = [fault]
    made_id = rig.restore(row)
    rig.pass_time(minutes=1)
    made = rig.made(made_id)
    assert (made.phase, made.claim_name) == (RestorePhase.READY, f"imagenet-{made_id[-10:]}")
    assert len(rig.objects(CLAIMS)) == there + 1


def test_killed_steps_are_taken_up_again(rig: Rig) -> None:
    row_id = rig.take()
    rig.taking.step(row_id)  # killed before it was saved
    rig.restart()
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    assert (row.phase, rig.objects()) == (SnapshotPhase.READY, [row.name])
    there = len(rig.objects(CLAIMS))
    made_id = rig.restore(row)
    rig.making.step(made_id)
    rig.restart()
    rig.pass_time(seconds=30)
    assert rig.made(made_id).phase == RestorePhase.READY
    assert len(rig.objects(CLAIMS)) == there + 1
    rig.delete(row)
    rig.taking.step(row_id)
    rig.restart()
    rig.pass_time(minutes=1)
    assert (rig.found(row_id).phase, rig.found(row_id).is_cleared, rig.objects()) == (
        SnapshotPhase.DELETED, True, [],
    )  # fmt: skip


def test_what_a_restore_uses_is_not_deleted(rig: Rig) -> None:
    rig.world.create("storageclasses", storage_class("slow", seconds=600))
    row = rig.taken()
    rig.restore(row, name="again", storage_class="slow")
    rig.pass_time(seconds=10)
    with pytest.raises(UserError) as caught:
        rig.delete(row)
    assert caught.value.message == (
        f"{row.name} cannot be deleted now. The restore to PVC again needs it."
    )
    rig.pass_time(minutes=11)
    rig.delete(row)
    rig.pass_time(minutes=1)
    assert (rig.found(row.id).phase, rig.read("again")) == (SnapshotPhase.DELETED, "monday")


def test_a_pvc_of_others_keeps_it_too(rig: Rig) -> None:
    rig.world.create("storageclasses", storage_class("slow", seconds=600))
    row = rig.taken()
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "slow",
        "resources": {"requests": {"storage": "1Ti"}},
        "dataSourceRef": {
            "apiGroup": "snapshot.storage.k8s.io",
            "kind": "VolumeSnapshot",
            "name": row.name,
        },
    }
    rig.world.create(CLAIMS, {"metadata": {"name": "theirs"}, "spec": spec}, "team-a")
    rig.delete(row)
    rig.pass_time(seconds=5)
    row = rig.found(row.id)
    assert (row.phase, row.wanted, rig.objects()) == (SnapshotPhase.READY, "kept", [row.name])
    (said,) = (said for purpose, said in rig.notes(row.id).items() if purpose.startswith("stayed"))
    assert said == (
        f"<@{ALICE}> `{row.name}` was not deleted. PVC theirs is being created from it."
    )


def test_sizes_names_and_classes_are_checked(rig: Rig) -> None:
    row = rig.taken()
    assert refusal(rig, row, size_bytes=2**30) == (
        f"1 GiB is less than what {row.name} needs: 1 TiB.",
        "Omit --size, or ask for at least that much.",
    )
    assert refusal(rig, row, name=CLAIM) == (
        "Namespace team-a already has a PVC imagenet. Nothing was changed.",
        "Choose another name: --as NAME.",
    )
    rig.world.create("storageclasses", storage_class("disks") | {"provisioner": "ebs.csi.aws.com"})
    assert refusal(rig, row, storage_class="disks") == (
        (
            f"Storage class disks uses ebs.csi.aws.com, but {row.name} is of csi.playground: only"
            " that driver can create volumes from it."
        ),
        "Choose one of csi.playground with --class: standard.",
    )
    assert refusal(rig, row, is_read_only=True) == (
        f"Only Trident can show a snapshot without copying it. {row.name} uses csi.playground.",
        "Omit --read-only: the new PVC is then a copy.",
    )
    rig.restore(row, name="again")
    assert refusal(rig, row, name="again", person=ERIN)[0] == (
        f"PVC again is already being created for <@{ALICE}>."
    )


def test_a_class_for_pods_is_not_waited_for(rig: Rig) -> None:
    rig.world.create("storageclasses", storage_class("late", waits=True))
    row = rig.taken()
    made_id = rig.restore(row, name="again", storage_class="late")
    rig.pass_time(hours=7)
    made = rig.made(made_id)
    assert (made.phase, made.is_live, held(rig, row)) == (RestorePhase.WAITING, True, 1)
    assert rig.card(made_id).splitlines()[:2] == [
        f"✅ PVC again from {row.name} · Waiting for a run to mount it",
        (
            "late creates volumes only for a pod (WaitForFirstConsumer): the volume is created"
            " when the first run mounts this PVC."
        ),
    ]


def test_what_a_driver_says_is_shown(rig: Rig) -> None:
    rig.set(restored_within="30m")
    rig.world.nature.break_provisioner("standard", "no capacity pools found")
    row = rig.taken()
    made_id = rig.restore(row, name="again")
    rig.pass_time(minutes=20)
    said = (
        'Kubernetes warns: failed to provision volume with StorageClass "standard": no capacity'
        " pools found."
    )
    assert (rig.made(made_id).phase, rig.made(made_id).obstacle) == (RestorePhase.MAKING, said)
    rig.pass_time(minutes=20)
    made = rig.made(made_id)
    assert (made.phase, made.reason) == (
        RestorePhase.FAILED, f"It had no volume after 30m. {said}",
    )  # fmt: skip
    assert (made.is_cleared, "again" in rig.objects(CLAIMS), held(rig, row)) == (True, False, 0)


def test_a_clone_holds_what_the_pvc_holds(rig: Rig) -> None:
    made_id = rig.clone(name="mine")
    rig.pass_time(seconds=30)
    assert (rig.made(made_id).phase, rig.read("mine")) == (RestorePhase.READY, "monday")
    assert rig.notes(made_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> PVC `mine` is ready. It holds the data of PVC imagenet."
    )


def test_a_read_only_pvc_keeps_its_snapshot(rig: Rig) -> None:
    rig.world.install("trident")
    rig.world.create("storageclasses", storage_class("anf", seconds=0) | {"provisioner": TRIDENT})
    rig.world.create("volumesnapshotclasses", snapshot_class("trident", TRIDENT, seconds=0))
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "anf",
        "resources": {"requests": {"storage": "1Ti"}},
    }
    rig.world.create(CLAIMS, {"metadata": {"name": "fast"}, "spec": spec}, "team-a")
    row = rig.taken(claim="fast")
    made_id = rig.restore(row, name="pinned", is_read_only=True)
    rig.pass_time(minutes=1)
    made = rig.made(made_id)
    claim = rig.claim("pinned")
    assert claim["metadata"]["annotations"]["trident.netapp.io/readOnlyClone"] == "true"
    assert (made.phase, claim["spec"]["accessModes"], held(rig, row)) == (
        RestorePhase.READY, ["ReadOnlyMany"], 1,
    )  # fmt: skip
    rig.world.delete(CLAIMS, "pinned", "team-a")
    rig.pass_time(minutes=1)
    assert (rig.made(made_id).is_cleared, held(rig, row)) == (True, 0)
