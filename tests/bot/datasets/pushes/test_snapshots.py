"""Pushes from snapshots: what is made to read them, what becomes of it, and what is refused."""

from datetime import timedelta
from typing import Any

import pytest

from bot.datasets.tables import PushPhase
from bot.errors import UserError
from playground.cluster.story import storage_class
from playground.ledger import Fault
from tests.bot.datasets.pushes.pushing import CLAIMS, NFS, TARGET, TRIDENT, Pushing
from tests.bot.datasets.pushes.test_pushes import DENIED
from tests.bot.ground import ALICE, INSTALLATION

EBS = "ebs.csi.aws.com"
PARTS = ("volumesnapshotcontents", "volumesnapshots", CLAIMS, "jobs")


def refusal(rig: Pushing, snapshot: str) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.ask(snapshot=snapshot)
    return caught.value.message, caught.value.hint


def made(rig: Pushing) -> tuple[Any, Any, Any, Any]:
    """The content, the snapshot, the PVC and the Job of a push."""
    ((name,), (job,)) = (
        [each["metadata"]["name"] for each in rig.world.list("volumesnapshots", "datasets")],
        rig.jobs(),
    )
    return (
        rig.world.get("volumesnapshotcontents", name),
        rig.world.get("volumesnapshots", name, "datasets"),
        rig.world.get(CLAIMS, name, "datasets"),
        job,
    )


def test_a_snapshot_is_read_where_the_keys_are(rig: Pushing) -> None:
    rig.snapshot()
    push_id = rig.push(snapshot="monday")
    rig.pass_time(seconds=20)
    content, snapshot, claim, job = made(rig)
    (own,) = [
        each
        for each in rig.world.list("volumesnapshotcontents")
        if each["spec"]["deletionPolicy"] == "Delete"
    ]
    assert content["spec"] | {"volumeSnapshotRef": None} == {
        "deletionPolicy": "Retain",
        "driver": NFS,
        "source": {"snapshotHandle": own["status"]["snapshotHandle"]},
        "sourceVolumeMode": "Filesystem",
        "volumeSnapshotClassName": "csi-snapclass",
        "volumeSnapshotRef": None,
    }
    name = content["metadata"]["name"]
    assert snapshot["spec"]["source"] == {"volumeSnapshotContentName": name}
    assert (claim["spec"]["accessModes"], claim["spec"]["storageClassName"]) == (
        ["ReadWriteMany"], "results-class",
    )  # fmt: skip
    assert claim["spec"]["resources"]["requests"] == {"storage": str(2**40)}
    volume = job["spec"]["template"]["spec"]["volumes"][-1]
    assert volume["persistentVolumeClaim"] == {"claimName": name, "readOnly": True}
    assert {each["metadata"]["labels"]["quartermaster.dev/dataset-push"] for each in made(rig)} == {
        push_id
    }
    rig.pass_time(minutes=3)
    assert (rig.found(push_id).phase, rig.found(push_id).is_cleared) == (PushPhase.PUSHED, True)
    assert rig.nothing_is_left()
    assert rig.world.get("volumesnapshots", "monday", "team-a") is not None


def test_the_question_and_the_card_name_the_moment(rig: Pushing) -> None:
    rig.snapshot()
    offer = rig.ask(snapshot="monday")
    assert (offer.volume.claim, offer.volume.capacity_bytes, offer.volume.storage_class) == (
        "results", 2**40, "results-class",
    )  # fmt: skip
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=3)
    card = rig.shown(push_id).splitlines()
    assert card[0] == f"✅ snapshot:monday:/run-7 to {TARGET} · Pushed"
    assert next(each for each in card if "Snapshot" in each).split()[1:4] == [
        "of",
        "PVC",
        "results",
    ]
    assert rig.notes(push_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> snapshot:monday:/run-7 was pushed to {TARGET}: 1,200 files, 48 GB."
    )


@pytest.mark.parametrize(
    ("driver", "mode", "notes"),
    [
        (TRIDENT, "ReadOnlyMany", {"trident.netapp.io/readOnlyClone": "true"}),
        (EBS, "ReadWriteOnce", {}),
    ],
)
def test_its_volume_is_as_its_driver_can(
    rig: Pushing, driver: str, mode: str, notes: dict[str, str]
) -> None:
    rig.claim("made", driver, "ReadWriteOnce")
    rig.others = rig.volumes()
    rig.snapshot(of="made", driver=driver)
    rig.push(snapshot="monday")
    rig.pass_time(seconds=20)
    claim = made(rig)[2]
    told = claim["metadata"]["annotations"]
    assert claim["spec"]["accessModes"] == [mode]
    assert {key: value for key, value in told.items() if key.startswith("trident")} == notes
    rig.pass_time(minutes=3)
    assert rig.nothing_is_left()


def test_a_class_waiting_for_pods_gets_one(rig: Pushing) -> None:
    waits = storage_class("waiting", seconds=0, waits=True) | {"provisioner": NFS}
    rig.snapshot()
    rig.world.delete("storageclasses", "results-class")
    rig.world.create("storageclasses", waits)
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=3)
    assert (rig.found(push_id).storage_class, rig.found(push_id).phase) == (
        "waiting",
        PushPhase.PUSHED,
    )
    assert rig.nothing_is_left()


def test_a_snapshot_may_outlive_its_claim(rig: Pushing) -> None:
    rig.snapshot()
    rig.world.delete(CLAIMS, "results", "team-a")
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=3)
    push = rig.found(push_id)
    assert (push.phase, push.claim_name, push.claim_uid, push.storage_class) == (
        PushPhase.PUSHED, "results", "", "results-class",
    )  # fmt: skip


def test_what_cannot_be_a_snapshot_is_refused(rig: Pushing) -> None:
    rig.snapshot()
    assert refusal(rig, "mondy") == (
        "There is no VolumeSnapshot mondy in namespace team-a.", "Did you mean monday?",
    )  # fmt: skip
    rig.snapshot("broken", of="nothing")
    assert refusal(rig, "broken")[0].startswith(
        "VolumeSnapshot broken is not ready yet. Its driver reports: Failed to set default snapshot"
    )
    rig.world.delete(CLAIMS, "results", "team-a")
    rig.world.delete("storageclasses", "results-class")
    assert refusal(rig, "monday") == (
        (
            "VolumeSnapshot monday does not show which storage class can restore it, and its PVC"
            " no longer exists."
        ),
        "Restore it to a PVC by hand and push that PVC.",
    )


def test_a_volume_not_made_is_quoted_and_late(rig: Pushing) -> None:
    rig.snapshot()
    rig.world.nature.break_provisioner("results-class", "pool is full")
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=16)
    push = rig.found(push_id)
    assert (push.phase, push.is_late) == (PushPhase.STARTING, True)
    assert push.obstacle == (
        "Its volume has not been created: failed to provision volume with StorageClass"
        ' "results-class": pool is full.'
    )
    rig.pass_time(minutes=50)
    push = rig.found(push_id)
    assert (push.phase, push.reason.split(". ")[0], push.is_cleared) == (
        PushPhase.FAILED, "Its pod did not start within 1h", True,
    )  # fmt: skip
    assert rig.nothing_is_left()


def test_a_retained_volume_is_named(rig: Pushing) -> None:
    rig.snapshot()
    rig.world.patch("storageclasses", "results-class", {"allowVolumeExpansion": True})
    rig.world.delete("storageclasses", "results-class")
    kept = storage_class("keeping", seconds=0) | {"provisioner": NFS, "reclaimPolicy": "Retain"}
    rig.world.create("storageclasses", kept)
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=3)
    push = rig.found(push_id)
    assert (push.is_cleared, push.retained, push.retained in rig.volumes()) == (
        True, push.volume_name, True,
    )  # fmt: skip
    assert (
        f"PersistentVolume {push.retained}, which was created to read the snapshot, stays: its"
        " reclaim policy is Retain. A platform admin can delete it."
    ) in rig.shown(push_id)


def test_a_snapshot_deleted_meanwhile_ends_it(rig: Pushing) -> None:
    rig.snapshot()
    push_id = rig.push(snapshot="monday")
    rig.world.delete("volumesnapshots", "monday", "team-a")
    rig.outside.clock.moment += timedelta(seconds=5)
    rig.pass_time(minutes=2)
    push = rig.found(push_id)
    assert (push.reason, push.is_cleared) == (
        "VolumeSnapshot monday is no longer in namespace team-a.", True,
    )  # fmt: skip


@pytest.mark.parametrize("kind", PARTS[:3])
def test_what_is_not_ours_is_left_alone(rig: Pushing, kind: str) -> None:
    rig.snapshot()
    push_id = rig.push(snapshot="monday")
    name = rig.found(push_id).job_name
    sources = {
        PARTS[0]: {"deletionPolicy": "Delete", "driver": NFS, "source": {"snapshotHandle": "x"},
                   "volumeSnapshotRef": {"namespace": "datasets", "name": name}},
        PARTS[1]: {"source": {"persistentVolumeClaimName": "x"}},
        PARTS[2]: {"accessModes": ["ReadWriteMany"], "storageClassName": "results-class",
                   "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    namespace = "" if kind == PARTS[0] else "datasets"
    rig.world.create(kind, {"metadata": {"name": name}, "spec": sources[kind]}, namespace)
    rig.pass_time(minutes=2)
    push = rig.found(push_id)
    assert push.reason.endswith(
        " already exists and does not belong to Quartermaster, so it was not changed."
    )
    assert (push.is_cleared, rig.world.get(kind, name, namespace) is not None) == (True, True)


def test_stopping_and_failing_leave_nothing(rig: Pushing) -> None:
    rig.snapshot()
    for seconds in (1, 3, 6, 20):
        push_id = rig.push(snapshot="monday")
        rig.pass_time(seconds=seconds)
        rig.stop(push_id)
        rig.pass_time(minutes=2)
        assert (rig.found(push_id).is_cleared, rig.nothing_is_left()) == (True, True)
    rig.pushes_so(DENIED, seconds=10, code=65)
    push_id = rig.push(snapshot="monday")
    rig.pass_time(minutes=3)
    assert (rig.found(push_id).phase, rig.nothing_is_left()) == (PushPhase.FAILED, True)


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_each_request_for_it_may_be_lost(rig: Pushing, fault: Fault) -> None:
    rig.snapshot()
    for part in PARTS:
        rig.outside.ledger.by_name[f"create {part}"] = [fault]
        rig.outside.ledger.by_name[f"delete {part}"] = [fault]
    push_id = rig.push(snapshot="monday")
    rig.pass_time(seconds=1)
    rig.restart()
    rig.pass_time(minutes=6)
    assert (rig.found(push_id).phase, rig.found(push_id).is_cleared) == (PushPhase.PUSHED, True)
    assert rig.nothing_is_left()


def test_it_is_kept_while_it_is_read(rig: Pushing) -> None:
    marks = {"quartermaster.dev/snapshot": "s1", "quartermaster.dev/installation": INSTALLATION}
    rig.snapshot(marks=marks)
    push_id = rig.push(snapshot="monday")
    (hold,) = rig.holds_on("s1")
    assert (hold.subject_kind, hold.subject_id) == ("dataset-push", push_id)
    assert (hold.why, hold.until) == (f"The push to {TARGET}", None)
    rig.pass_time(seconds=20)
    assert len(rig.holds_on("s1")) == 1
    rig.pass_time(minutes=3)
    assert rig.found(push_id).is_cleared
    assert rig.holds_on("s1") == []


def test_a_strangers_snapshot_is_no_row_of_ours(rig: Pushing) -> None:
    marks = {"quartermaster.dev/snapshot": "s1", "quartermaster.dev/installation": "another"}
    rig.snapshot(marks=marks)
    rig.push(snapshot="monday")
    assert rig.holds_on("s1") == []
