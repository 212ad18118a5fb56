"""States of the cards of snapshots, restores, schedules and reverts."""

from collections.abc import Iterator
from typing import Any

from bot.approvals.tables import ApprovalPhase, Verdict
from bot.snapshots.copies.tables import Copy, CopyPhase, CopySource
from bot.snapshots.deletions.tables import Deletion, DeletionPhase
from bot.snapshots.resizes.tables import Resize, ResizePhase
from bot.snapshots.tables import (
    Restore,
    RestorePhase,
    Revert,
    RevertPhase,
    Snapshot,
    SnapshotIntent,
    SnapshotPhase,
    SnapshotSchedule,
)
from tests.handlers.command_client import ALICE, APPROVALS, ERIN
from tests.states.quotas import approval, vote
from tests.states.state import DAY, HOUR, ID, MINUTE, NOW, SILENT, State, card, usual

GIB, TIB = 2**30, 2**40
NAME = "imagenet-20261121-1159"
OTHER = "019aa64b-2e00-7000-8000-0000ba5e0001"


def snapshot(**more: Any) -> Snapshot:
    """A snapshot of Alice's imagenet."""
    fields = usual(
        claim_name="imagenet", claim_uid="uid", storage_class="azurenetappfiles",
        driver="csi.trident.netapp.io", capacity_bytes=500 * GIB, name=NAME, since=NOW - MINUTE,
        asked_at=NOW - MINUTE, keep_until=NOW + 30 * DAY,
    )  # fmt: skip
    return Snapshot(**(fields | more))


def ready(**more: Any) -> Snapshot:
    """One that was taken."""
    return snapshot(**{
        "phase": SnapshotPhase.READY, "uid": "uid", "snapshot_class": "anf-snapshots",
        "deletion_policy": "Delete", "taken_at": NOW - MINUTE, "size_bytes": 500 * GIB, **more,
    })  # fmt: skip


def restore(**more: Any) -> Restore:
    """A new PVC from that snapshot."""
    fields = usual(
        snapshot_id=OTHER, source=NAME, source_uid="uid", of_claim="imagenet",
        claim_name="imagenet-again", storage_class="azurenetappfiles", access_mode="ReadWriteMany",
        size_bytes=500 * GIB, asked_at=NOW - MINUTE, since=NOW - MINUTE,
    )  # fmt: skip
    return Restore(**(fields | more))


def revert(**more: Any) -> Revert:
    """The same PVC as it was a day ago."""
    fields = usual(
        snapshot_id=OTHER, snapshot=NAME, snapshot_uid="uid", shows_at=NOW - DAY,
        claim_name="imagenet", claim_uid="uid", why="A run overwrote the labels", saves=True,
        storage_class="azurenetappfiles", access_mode="ReadWriteMany", size_bytes=500 * GIB,
        asked_at=NOW - HOUR, since=NOW - HOUR,
    )  # fmt: skip
    return Revert(**(fields | more))


def resize(**more: Any) -> Resize:
    """Alice's resize of imagenet."""
    fields = usual(
        claim_name="imagenet", claim_uid="uid", storage_class="premium-rwx", size_bytes=2 * TIB,
        from_bytes=TIB, cost=102.4, asked_at=NOW - HOUR, since=NOW - MINUTE,
    )  # fmt: skip
    return Resize(**(fields | more))


def deletion(**more: Any) -> Deletion:
    """Alice's deletion of imagenet."""
    fields = usual(
        claim_name="imagenet", claim_uid="uid", storage_class="premium-rwx", size_bytes=TIB,
        volume_name="pvc-0c12", reclaim_policy="Delete", asked_at=NOW - MINUTE, since=NOW - MINUTE,
    )  # fmt: skip
    return Deletion(**(fields | more))


def schedule(**more: Any) -> SnapshotSchedule:
    """Daily snapshots at two."""
    fields = usual(
        claim_name="imagenet", cron="0 2 * * *", time_zone="Europe/Berlin", keep_seconds=1_209_600,
        most=14, asked_at=NOW - 3 * DAY, next_at=NOW + 13 * HOUR,
    )  # fmt: skip
    return SnapshotSchedule(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    yield from _snapshots()
    yield from _restores()
    yield from _schedules()
    yield from _reverts()
    yield from _resizes()
    yield from _copies()
    yield from _deletions()


def _snapshots() -> Iterator[State]:
    yield card("snapshot-asked", snapshot())
    yield card("snapshot-being-taken", snapshot(phase=SnapshotPhase.TAKING))
    slow = "The driver reports: rpc error: code = DeadlineExceeded."
    yield card(
        "snapshot-late",
        snapshot(phase=SnapshotPhase.TAKING, since=NOW - 6 * MINUTE, is_late=True, obstacle=slow),
    )
    yield card("snapshot-retrying", snapshot(trouble=SILENT))
    yield card("snapshot-ready", ready(note="before the cleanup"))
    digest = "sha256:9f2b1c77"
    yield card(
        "snapshot-of-a-run",
        ready(run_id="run", run="lane", data=[["chest-xray@v3", digest]], keep_until=None),
    )
    deleting = {"wanted": SnapshotIntent.DELETED, "deleted_by": ALICE, "deletion_policy": "Retain"}
    yield card("snapshot-deleting", ready(**deleting, phase=SnapshotPhase.DELETING))
    yield card("snapshot-deleted", ready(**deleting, phase=SnapshotPhase.DELETED, ended_at=NOW))
    failed = {
        "reason": "PVC imagenet no longer exists.",
        "unblock": "Nothing is left to take a snapshot of.",
    }
    yield card("snapshot-failed", snapshot(phase=SnapshotPhase.FAILED, ended_at=NOW, **failed))


def _restores() -> Iterator[State]:
    of = ready(id=OTHER)
    yield card("restore-asked", restore(), of)
    yield card("restore-running", restore(phase=RestorePhase.MAKING), of)
    late = "Provisioning failed: not enough capacity in pool premium."
    yield card(
        "restore-late",
        restore(phase=RestorePhase.MAKING, since=NOW - 11 * MINUTE, is_late=True, obstacle=late),
        of,
    )
    yield card("restore-retrying", restore(trouble=SILENT), of)
    yield card("restore-cancelling", restore(phase=RestorePhase.MAKING, cancelled_by=ALICE), of)
    yield card("restore-waiting-for-a-run", restore(phase=RestorePhase.WAITING, ended_at=NOW), of)
    yield card("restore-ready", restore(phase=RestorePhase.READY, ended_at=NOW), of)
    is_there = {"phase": RestorePhase.READY, "ended_at": NOW, "is_read_only": True}
    yield card("restore-ready-read-only", restore(**is_there, access_mode="ReadOnlyMany"), of)
    clone = {"snapshot_id": None, "source": "imagenet", "claim_name": "imagenet-copy"}
    yield card("clone-ready", restore(**clone, phase=RestorePhase.READY, ended_at=NOW))
    why = {
        "reason": "Namespace team-a already has a PVC imagenet-again that Quartermaster did not"
        " create.",
        "unblock": "Choose another name: --as NAME.",
    }
    yield card("restore-failed", restore(phase=RestorePhase.FAILED, ended_at=NOW, **why), of)
    gone = {"ended_at": NOW, "cancelled_by": ALICE, "reason": "<@U0ALICE> cancelled it."}
    yield card("restore-cancelled", restore(phase=RestorePhase.CANCELLED, **gone), of)


def _schedules() -> Iterator[State]:
    last = ready(id=OTHER, schedule_id=ID, slot=NOW - 11 * HOUR)
    yield card("schedule-active", schedule(last_id=OTHER), last)
    yield card("schedule-new", schedule())
    lost = {
        "said": "imagenet-20261121-0100 failed: the volume has 255 snapshots, its most.",
        "failures": 3,
        "others": ["daily-backup"],
    }
    yield card("schedule-failing", schedule(last_id=OTHER, **lost), last)
    waits = "Waiting for imagenet-20261121-1159, which is being taken."
    yield card("schedule-waiting", schedule(obstacle=waits))
    yield card("schedule-retrying", schedule(trouble=SILENT))
    yield card("schedule-stopped", schedule(last_id=OTHER, ended_at=NOW), last)


def _reverts() -> Iterator[State]:
    asked = approval("revert", "snapshot_restore", ApprovalPhase.ASKED)
    used = approval("revert", "snapshot_restore", ApprovalPhase.USED)
    yield card("revert-pending", revert(), asked, channel=APPROVALS)
    yield card("revert-pending-in-its-channel", revert(), asked)
    clone = {"clone_id": "clone", "clone": "imagenet-before-revert"}
    yield card("revert-cloning", revert(phase=RevertPhase.SAVING, **clone), used, vote())
    working = revert(phase=RevertPhase.REVERTING, **clone)
    yield card("revert-running", working, used, vote())
    yield card("revert-late", revert(phase=RevertPhase.REVERTING, is_late=True), used, vote())
    in_use = "PVC imagenet is mounted, and a volume in use cannot be reverted: run lane."
    waits = revert(phase=RevertPhase.REVERTING, obstacle=in_use, **clone)
    yield card("revert-waiting", waits, used, vote())
    yield card("revert-retrying", revert(phase=RevertPhase.SAVING, trouble=SILENT), used, vote())
    yield card("revert-done", revert(phase=RevertPhase.DONE, ended_at=NOW, **clone), used, vote())
    failed = {
        "reason": "Trident did not revert it. Snapshot imagenet-20261121-1159 is not the newest.",
        "unblock": "Ask a platform admin.",
    }
    yield card(
        "revert-failed",
        revert(phase=RevertPhase.FAILED, ended_at=NOW, saves=False, **failed),
        used,
        vote(),
    )
    denied = approval("revert", "snapshot_restore", ApprovalPhase.DENIED)
    yield card(
        "revert-denied", revert(phase=RevertPhase.DENIED, ended_at=NOW), denied, vote(Verdict.DENY)
    )
    late = approval("revert", "snapshot_restore", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("revert-expired", revert(phase=RevertPhase.EXPIRED, ended_at=NOW), late)
    stopped = {"cancelled_by": ERIN, "ended_at": NOW, "reason": "<@U0ERIN> cancelled it."}
    voided = approval("revert", "snapshot_restore", ApprovalPhase.VOIDED)
    yield card("revert-cancelled", revert(phase=RevertPhase.CANCELLED, **stopped), voided)


def _resizes() -> Iterator[State]:
    kind = "pvc-resize"
    asked, used = (approval(kind, "pvc_change", each) for each in _WAY)
    phase = ResizePhase
    yield card("resize-pending", resize(phase=phase.ASKED), asked, channel=APPROVALS)
    yield card("resize-pending-in-its-channel", resize(phase=phase.ASKED), asked)
    yield card("resize-approved", resize(), used, vote())
    yield card("resize-running", resize(phase=phase.GROWING, cost=None))
    slow = "ControllerResizeError: rpc error: code = ResourceExhausted desc = pool is full"
    yield card("resize-blocked", resize(phase=phase.GROWING, obstacle=slow))
    yield card("resize-retrying", resize(trouble=SILENT))
    yield card("resize-waiting-for-a-pod", resize(phase=phase.MOUNTING))
    yield card("resize-done", resize(phase=phase.DONE, ended_at=NOW))
    why = {"reason": f"It did not grow within 1d. {slow}", "unblock": (
        "The PVC keeps requesting 2 TiB, and its driver keeps trying. A platform admin has to"
        " check the CSI driver.")}  # fmt: skip
    yield card("resize-failed", resize(phase=phase.FAILED, ended_at=NOW, **why))
    denied = approval(kind, "pvc_change", ApprovalPhase.DENIED)
    yield card(
        "resize-denied", resize(phase=phase.DENIED, ended_at=NOW), denied, vote(Verdict.DENY)
    )
    late = approval(kind, "pvc_change", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("resize-expired", resize(phase=phase.EXPIRED, ended_at=NOW), late)
    gone = resize(phase=phase.WITHDRAWN, ended_at=NOW, withdrawn_by=ERIN)
    yield card("resize-withdrawn", gone, approval(kind, "pvc_change", ApprovalPhase.VOIDED))


_WAY = (ApprovalPhase.ASKED, ApprovalPhase.USED)


def _deletions() -> Iterator[State]:
    phase = DeletionPhase
    saved = {"snapshot_id": OTHER, "snapshot": NAME}
    yield card("deletion-saving", deletion(phase=phase.SAVING, **saved))
    yield card("deletion-pending", deletion(**saved))
    yield card("deletion-retrying", deletion(trouble=SILENT))
    yield card("deletion-running", deletion(phase=phase.LEAVING))
    held = "Kubernetes deletes it once these no longer mount it: pod lane-0 of run lane."
    yield card("deletion-held", deletion(phase=phase.LEAVING, obstacle=held))
    yield card("deletion-done", deletion(phase=phase.DONE, ended_at=NOW, **saved))
    retained = deletion(phase=phase.DONE, ended_at=NOW, reclaim_policy="Retain")
    yield card("deletion-done-with-its-volume-kept", retained)
    why = {
        "reason": "PVC imagenet is needed now. Run lane mounts it. The PVC was not deleted.",
        "unblock": "When they have ended, request it again.",
    }
    yield card("deletion-failed", deletion(phase=phase.FAILED, ended_at=NOW, **why))
    ended = deletion(phase=phase.CANCELLED, ended_at=NOW, cancelled_by=ERIN, **saved)
    yield card("deletion-cancelled", ended)


def copied(**more: Any) -> Copy:
    """Erin's copy of data to data-shared."""
    fields = usual(
        person=ERIN, claim_name="data", claim_uid="uid", source_class="disks",
        source_bytes=100 * GIB, access_mode="ReadWriteOnce", reads=CopySource.IDLE,
        target="data-shared", storage_class="nfs-rwx", size_bytes=200 * GIB, cost=40.0,
        source_cost=10.0, job_name="copy-data-0a1b2c3d4e", asked_at=NOW - HOUR,
        since=NOW - 20 * MINUTE,
    )  # fmt: skip
    return Copy(**(fields | more))


def _copies() -> Iterator[State]:
    kind, phase = "pvc-copy", CopyPhase
    asked = approval(kind, "pvc_change", ApprovalPhase.ASKED)
    yield card("copy-pending", copied(phase=phase.ASKED), asked, channel=APPROVALS)
    yield card("copy-pending-in-its-channel", copied(phase=phase.ASKED), asked)
    mounted = "It waits until nothing mounts the PVC. These pods do: lane-0."
    yield card("copy-preparing", copied())
    yield card("copy-blocked", copied(obstacle=mounted))
    yield card("copy-retrying", copied(trouble=SILENT))
    yield card("copy-starting", copied(phase=phase.STARTING, reads=CopySource.SNAPSHOT))
    yield from _copies_at_work()
    yield from _copies_at_their_end()
    denied = approval(kind, "pvc_change", ApprovalPhase.DENIED)
    yield card("copy-denied", copied(phase=phase.DENIED, ended_at=NOW), denied, vote(Verdict.DENY))
    late = approval(kind, "pvc_change", ApprovalPhase.EXPIRED, expires_at=NOW)
    yield card("copy-expired", copied(phase=phase.EXPIRED, ended_at=NOW), late)
    gone = copied(phase=phase.WITHDRAWN, ended_at=NOW, stopped_by=ERIN)
    yield card("copy-withdrawn", gone, approval(kind, "pvc_change", ApprovalPhase.VOIDED))


_COUNTED = {"files_total": 627_615, "bytes_total": 250 * 10**9}
_WHOLE = {"files_done": 627_615, "bytes_done": 250 * 10**9}


def _copies_at_work() -> Iterator[State]:
    at_work = {**_COUNTED, "phase": CopyPhase.COPYING, "started_at": NOW - 20 * MINUTE}
    listing = at_work | {"files_total": 41_000, "bytes_total": 16 * 10**9, "stage": "listing"}
    yield card("copy-listing", copied(**listing))
    done = {"files_done": 200_000, "bytes_done": 80 * 10**9, "bytes_per_second": 65e6}
    yield card("copy-running", copied(**at_work, **done, stage="copying"))
    yield card("copy-verifying", copied(**at_work, **_WHOLE, stage="verifying"))
    yield card("copy-stopping", copied(**at_work, **done, stage="copying", stopped_by=ERIN))


def _copies_at_their_end() -> Iterator[State]:
    ended = {**_COUNTED, **_WHOLE, "started_at": NOW - 65 * MINUTE, "ended_at": NOW,
             "phase": CopyPhase.DONE, "copied_files": 627_615, "target_uid": "new"}  # fmt: skip
    kept = {"folders": 1_204, "links": 12, "hardlinks": 3, "sparse": 7, "attributes": 41}
    yield card("copy-done", copied(**ended, counts=kept))
    lost = {"folders": 3, "special": 2, "lost_attributes": 41}
    live = {"reads": CopySource.LIVE, "changed": 5, "others": 1, "cost": None, "source_cost": None}
    yield card("copy-done-live", copied(**(ended | live), counts=lost))
    why = {"reason": "The new volume is full at train/17.png.",
           "unblock": "Make the new PVC larger, then copy again."}  # fmt: skip
    failed = copied(phase=CopyPhase.FAILED, ended_at=NOW, target_uid="new", **why)
    yield card("copy-failed", failed)
