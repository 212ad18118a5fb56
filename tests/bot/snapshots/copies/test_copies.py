"""PVCs for one node are copied to PVCs that many pods can mount."""

import sys

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import UserError
from bot.snapshots.copies.tables import CopyPhase, CopySource
from playground.bucket import WORKER_IMAGE
from playground.cluster.control.claims import SECONDS
from playground.ledger import Fault
from tests.bot.ground import ERIN
from tests.bot.snapshots.copies.copying import APPROVALS, DISK, SHARED, Copying
from tests.bot.snapshots.rig import CLAIM, CLAIMS, TAKEN
from tests.databases import ON_BOTH

MAKE, START = f"create {CLAIMS}", "create jobs"


def refusal(rig: Copying, claim: str = DISK, **options: object) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.offer(claim, **options)
    return caught.value.message, caught.value.hint


def lines(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.splitlines()]


def test_what_it_does_and_costs_is_shown_first(copying: Copying) -> None:
    assert lines(copying.offer(size_bytes=200 * 2**30)) == [
        "Copy data to data-shared?",
        (
            "A Job copies all files of `data` to `data-shared`, which many pods can mount,"
            " and reads"
            " each back. `data` stays."
        ),
        (
            "Kept: owners, modes, times, symbolic and hard links, holes, extended attributes"
            " and POSIX"
            " ACLs. Left out: sockets, pipes and devices."
        ),
        "New PVC data-shared, ReadWriteMany",
        "Class disks → nfs-rwx",
        "Size 100 GiB → 200 GiB",
        "Reads the PVC itself, which nothing may mount meanwhile",
        "Monthly cost 40.00, besides 10.00 for the old PVC until that is deleted",
        "[Copy it]",
    ]
    assert copying.effects() == []


def test_clone_is_offered_where_the_class_shares(copying: Copying) -> None:
    copying.add_claim("mine", storageClassName="nfs-rwx")
    assert (
        "Its own class makes such PVCs. If its driver can clone, this makes the same without a Job,"
        " often in seconds: `/snapshot clone mine --as data-shared`"
    ) in lines(copying.offer("mine"))


def test_claim_is_copied_and_stays(copying: Copying) -> None:
    row_id = copying.copy()
    row = copying.works(row_id)
    assert (row.phase, row.reason) == (CopyPhase.DONE, "")
    assert copying.content() == copying.files
    assert copying.claim(SHARED)["spec"]["accessModes"] == ["ReadWriteMany"]
    assert copying.left() == {"jobs": [], CLAIMS: [DISK, SHARED, CLAIM], TAKEN: []}
    assert copying.effects() == [MAKE, START, "delete jobs"]
    assert copying.notes(row_id) == {
        "ended": f"<@{ERIN}> `data-shared` is ready, and many pods can mount it: 3 files, 300 kB.\n"
        "Mount it in place of `data`: `--pvc data-shared:/data`.\n"
        "PVC `data` stays as it is, and costs 10.00 a month. When nothing needs it any more:"
        " `/pvc delete data`."
    }
    told = copying.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("pvc.copy", ERIN), ("pvc.copy_ended", None),
    ]  # fmt: skip
    card = lines(copying.card(row_id))
    assert card[0] == "✅ Copy PVC data to data-shared · Copied"
    assert "Files 3, 300 kB (300,004 bytes)" in card
    assert "Read back 3 files, by SHA-256, in the last attempt" in card


@pytest.mark.parametrize("request_", [MAKE, START, "delete jobs"])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_have_one_effect(copying: Copying, request_: str, fault: Fault) -> None:
    row_id = copying.copy()
    copying.outside.ledger.by_name[request_] = [fault]
    assert copying.works(row_id).phase == CopyPhase.DONE
    assert copying.left() == {"jobs": [], CLAIMS: [DISK, SHARED, CLAIM], TAKEN: []}
    assert copying.content() == copying.files


@ON_BOTH
def test_every_step_outlives_restarts(copying: Copying) -> None:
    row_id = copying.copy()
    assert copying.works(row_id, restarts=True).phase == CopyPhase.DONE
    assert copying.effects() == [MAKE, START, "delete jobs"]


def test_mounted_claim_is_refused_with_ways(copying: Copying) -> None:
    copying.mount()
    assert refusal(copying) == (
        (
            "PVC data is mounted now, by pod user. Files that change while they are copied"
            " would not"
            " fit each other."
        ),
        (
            "Copy it when they have ended. Or --snapshot copies a snapshot of it, so that"
            " all files are"
            " of one moment, and --live copies it while it changes, on the node that has it."
        ),
    )


def test_claim_of_one_pod_is_never_copied_live(copying: Copying) -> None:
    copying.add_claim("alone", accessModes=["ReadWriteOncePod"])
    copying.mount("alone")
    assert refusal(copying, "alone", reads=CopySource.LIVE)[1] == (
        "Copy it when they have ended. Or --snapshot copies a snapshot of it, so that all files are"
        " of one moment."
    )


def test_snapshot_of_a_mounted_claim_is_copied(copying: Copying) -> None:
    copying.mount()
    row_id = copying.copy(reads=CopySource.SNAPSHOT)
    row = copying.works(row_id)
    assert (row.phase, row.reason) == (CopyPhase.DONE, "")
    assert copying.content() == copying.files
    assert copying.left() == {"jobs": [], CLAIMS: [DISK, SHARED, CLAIM], TAKEN: []}
    assert copying.effects() == [
        MAKE, "create volumesnapshots", MAKE, START,
        "delete jobs", f"delete {CLAIMS}", "delete volumesnapshots",
    ]  # fmt: skip


def test_snapshot_of_a_claim_that_grew_is_copied(copying: Copying) -> None:
    """Drivers refuse a PVC that is smaller than the snapshot from which it is created."""
    copying.set(10)
    row_id = copying.copy(reads=CopySource.SNAPSHOT)
    copying.world.patch("storageclasses", "disks", {"allowVolumeExpansion": True})
    larger = {"spec": {"resources": {"requests": {"storage": "150Gi"}}}}
    copying.world.patch(CLAIMS, DISK, larger, "team-a")
    copying.pass_time(minutes=1)
    assert copying.claim(DISK)["status"]["capacity"] == {"storage": "150Gi"}
    copying.decides(row_id)
    row = copying.works(row_id)
    assert (row.phase, row.reason) == (CopyPhase.DONE, "")


def test_slow_snapshot_is_awaited_as_set(copying: Copying) -> None:
    """Some clouds copy a snapshot to an object store before it can be used."""
    copying.set(snapshots={"ready_within": "4h"})
    slow = {"parameters": {SECONDS: str(3 * 3600)}}
    copying.world.patch("volumesnapshotclasses", "csi-snapclass", slow)
    row_id = copying.copy(reads=CopySource.SNAPSHOT)
    copying.pass_time(hours=2)
    assert lines(copying.card(row_id))[0] == "▶️ Copy PVC data to data-shared · Preparing"
    copying.pass_time(hours=1)
    assert copying.works(row_id).phase == CopyPhase.DONE


def test_snapshot_that_is_never_ready_fails_it(copying: Copying) -> None:
    slow = {"parameters": {SECONDS: str(3 * 3600)}}
    copying.world.patch("volumesnapshotclasses", "csi-snapclass", slow)
    row_id = copying.copy(reads=CopySource.SNAPSHOT)
    copying.pass_time(hours=2)
    row = copying.row(row_id)
    assert (row.phase, row.reason, row.unblock) == (
        CopyPhase.FAILED,
        "Its snapshot was not ready within 1h.",
        "If snapshots take longer here, a platform admin can set snapshots.ready_within.",
    )


def test_live_copy_runs_where_the_claim_is(copying: Copying) -> None:
    copying.mount()
    user = copying.world.get("pods", "user", "team-a")
    assert user is not None
    node = user["spec"]["nodeName"]
    row_id = copying.copy(reads=CopySource.LIVE)
    copying.pass_time(seconds=4)
    (pod,) = [each for each in copying.world.list("pods", "team-a")
              if each["metadata"]["name"] != "user"]  # fmt: skip
    assert pod["spec"]["nodeName"] == node
    assert copying.works(row_id).phase == CopyPhase.DONE
    assert copying.content() == copying.files


def test_pod_that_mounts_it_meanwhile_delays_it(copying: Copying) -> None:
    row_id = copying.copy()
    copying.mount()
    assert lines(copying.card(row_id))[:2] == [
        "⚠️ Copy PVC data to data-shared · Preparing",
        "It waits until nothing mounts the PVC. These pods do: user.",
    ]
    copying.world.delete("pods", "user", "team-a")
    assert copying.works(row_id).phase == CopyPhase.DONE


def test_pod_that_stays_fails_it_after_an_hour(copying: Copying) -> None:
    row_id = copying.copy()
    copying.mount()
    copying.pass_time(hours=2)
    row = copying.row(row_id)
    assert (row.phase, row.reason) == (
        CopyPhase.FAILED,
        (
            "The copy could not start within 1h. It waits until nothing mounts the PVC."
            " These pods do:"
            " user."
        ),
    )


def test_stopped_copy_goes_on_with_the_same_claim(copying: Copying) -> None:
    copying.mount()
    row_id = copying.copy(reads=CopySource.LIVE)
    copying.pass_time(seconds=3)
    copying.stops(row_id)
    row = copying.works(row_id)
    assert (row.phase, row.reason) == (CopyPhase.FAILED, f"<@{ERIN}> stopped it.")
    assert copying.left()[CLAIMS] == [DISK, SHARED, CLAIM]
    uid = copying.claim(SHARED)["metadata"]["uid"]
    assert "It goes on with `data-shared`, where an earlier copy stopped." in copying.offer(
        reads=CopySource.LIVE
    )
    assert refusal(copying, reads=CopySource.LIVE, size_bytes=2**40) == (
        "An earlier copy left PVC data-shared, which has 100 GiB.",
        (
            "To go on with it, omit --size; `/pvc resize data-shared SIZE` makes it larger first."
            " For another PVC: --as NAME."
        ),
    )
    again = copying.works(copying.copy(reads=CopySource.LIVE))
    assert (again.phase, again.target_uid) == (CopyPhase.DONE, uid)
    assert copying.content() == copying.files


def test_names_of_others_are_refused(copying: Copying) -> None:
    assert refusal(copying, target=CLAIM) == (
        "Namespace team-a already has a PVC imagenet. Nothing was changed.",
        "Choose another name: --as NAME.",
    )


def test_name_that_is_taken_meanwhile_is_left_alone(copying: Copying) -> None:
    row_id = copying.copy()
    copying.add_claim(SHARED)
    assert copying.works(row_id).reason == (
        "PVC data-shared already exists and does not belong to this copy, so it stays as it is."
    )
    assert copying.effects() == []


def test_one_copy_of_a_claim_at_a_time(copying: Copying) -> None:
    copying.copy()
    assert refusal(copying, target="another") == (
        f"<@{ERIN}> is already copying data to data-shared.",
        "Its card in <#C0TEAMA> shows the progress.",
    )


def test_shared_claims_need_no_copy(copying: Copying) -> None:
    assert refusal(copying, CLAIM) == (
        "Many pods can already mount PVC imagenet: its access mode is ReadWriteMany.",
        "Mount it in each of them, for example `--pvc imagenet:/data`.",
    )


def test_block_devices_have_no_files(copying: Copying) -> None:
    copying.add_claim("device", volumeMode="Block")
    assert refusal(copying, "device")[0] == "PVC device is a block device, which has no files."


def test_classes_that_cannot_are_named(copying: Copying) -> None:
    assert refusal(copying, storage_class="disks") == (
        "Only pods of one node at a time can mount volumes of storage class disks.",
        (
            "Many pods can mount volumes of: nfs-rwx. Pods of one node at a time can mount"
            " those of:"
            " disks, standard."
        ),
    )
    assert "Class disks → nfs-rwx" in lines(copying.offer(storage_class=None))


def test_class_nobody_knows_is_refused_with_the_setting(copying: Copying) -> None:
    copying.set(clusters={"default": {"access_modes": {"disks": "ReadWriteOnce"}}})
    assert refusal(copying) == (
        (
            "It is not known whether many pods can mount volumes of storage class nfs-rwx,"
            " whose driver"
            " is csi.playground."
        ),
        (
            "A StorageClass does not say which access modes its volumes have. A platform"
            " admin can, in"
            " quartermaster.yaml: clusters.default.access_modes: {nfs-rwx: ReadWriteMany}."
        ),
    )


def test_copies_without_an_image_are_not_set_up(copying: Copying) -> None:
    copying.set(datasets=None)
    assert refusal(copying) == (
        "Copies of PVCs are not set up here.",
        "A platform admin can set pvcs.copies.image in quartermaster.yaml to the bot's own image.",
    )


def test_quota_of_the_namespace_is_named(copying: Copying) -> None:
    quota = {"metadata": {"name": "storage"}, "spec": {"hard": {"requests.storage": "1150Gi"}}}
    copying.world.create("resourcequotas", quota, "team-a")
    copying.world.settle()
    row = copying.works(copying.copy())
    assert row.phase == CopyPhase.FAILED
    assert row.reason.startswith(
        "The namespace's ResourceQuota does not allow another PVC of that size."
    )
    assert copying.left()[CLAIMS] == [DISK, CLAIM]


@ON_BOTH
def test_costly_copy_waits_for_approval(copying: Copying) -> None:
    copying.set(10)
    assert "An approver other than you has to approve it." in copying.offer()
    row_id = copying.copy()
    copying.pass_time(minutes=1)
    assert (copying.row(row_id).phase, copying.effects()) == (CopyPhase.ASKED, [])
    assert "[Approve]" in copying.card(row_id, APPROVALS)
    copying.decides(row_id)
    assert copying.works(row_id).phase == CopyPhase.DONE


def test_denied_copy_changes_nothing(copying: Copying) -> None:
    copying.set(10)
    row_id = copying.copy()
    copying.decides(row_id, Verdict.DENY)
    assert (copying.works(row_id).phase, copying.effects()) == (CopyPhase.DENIED, [])


def test_withdrawn_copy_changes_nothing(copying: Copying) -> None:
    copying.set(10)
    row_id = copying.copy()
    copying.stops(row_id)
    copying.pass_time(minutes=1)
    assert (copying.row(row_id).phase, copying.effects()) == (CopyPhase.WITHDRAWN, [])
    assert copying.notes(row_id)["ended"] == (
        f"<@{ERIN}> The copy of `data` was withdrawn. Nothing was changed."
    )


FULL = """
print('{"event":"failed","reason":"no_room","message":"The new volume is full at train/1.png.",'
      '"hint":"Copy to a larger PVC: --size."}')
raise SystemExit(65)
"""


def test_worker_says_why_it_failed(copying: Copying) -> None:
    copying.world.programs.images[WORKER_IMAGE] = (sys.executable, "-c", FULL)
    row_id = copying.copy()
    assert copying.works(row_id).phase == CopyPhase.FAILED
    assert copying.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ERIN}> `data` was not copied completely to `data-shared`. The new volume is full"
            " at train/1.png."
        ),
        "Copy to a larger PVC: --size.",
        "PVC `data-shared` stays with what was copied. To remove it: `/pvc delete data-shared`.",
    ]
    assert copying.left() == {"jobs": [], CLAIMS: [DISK, SHARED, CLAIM], TAKEN: []}


def test_namespaces_that_forbid_root_are_named(copying: Copying) -> None:
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    copying.world.patch("namespaces", "team-a", level)
    row = copying.works(copying.copy())
    assert row.phase == CopyPhase.FAILED
    assert 'violates PodSecurity "restricted:latest"' in row.reason
    assert row.unblock == (
        "The copy keeps owners, so its pod runs as root, which this namespace forbids. A platform"
        " admin can set its label pod-security.kubernetes.io/enforce to baseline."
    )


def test_claim_replaced_before_the_start_is_not_copied(copying: Copying) -> None:
    row_id = copying.copy()
    copying.world.delete(CLAIMS, DISK, "team-a")
    copying.add_claim(DISK)
    row = copying.works(row_id)
    assert (row.phase, row.reason) == (CopyPhase.FAILED, "PVC data no longer exists.")
    assert copying.effects() == []
