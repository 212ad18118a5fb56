"""Decides the next step to make a snapshot readable, and to clean up afterwards. Pure."""

from datetime import datetime

from bot.datasets.pushes.decisions import (
    ADMIN,
    GOES_ON,
    STARTS_WITHIN,
    AwaitDeletion,
    Decision,
    Make,
    Remove,
)
from bot.datasets.pushes.restored import Restored, RestoredPart
from bot.datasets.tables import Push, PushPhase
from bot.durations import format_duration
from bot.reconcile.decisions import Done, Fail, UpdateStatus

_RETAIN = "Retain"


def prepare(push: Push, seen: Restored, now: datetime) -> Decision | None:
    """The next step before the Job can be created; None once it can.

    The Job does not wait for the PVC's volume, as some classes provision it for the first pod.
    """
    if seen.taken:
        return Fail(f"{seen.taken} already exists and does not belong to Quartermaster, so it was"
                    " not changed.", "Push again; the push gets another name.")  # fmt: skip
    if seen.claim is not None:
        is_going = seen.claim.metadata.deletion_timestamp is not None
        return (
            Fail("The PVC that was created from it is being deleted.", GOES_ON)
            if is_going
            else None
        )
    reason = _unreadable(push, seen)
    if reason:
        return Fail(reason, "Push another snapshot, or the PVC itself.")
    if now - push.asked_at > STARTS_WITHIN:
        within = format_duration(STARTS_WITHIN)
        what = f"VolumeSnapshot {push.snapshot}"
        said = f"{what} was not readable in {push.namespace} within {within}. {seen.obstacle}"
        return Fail(said.strip(), ADMIN)
    return _next_part(seen)


def _next_part(seen: Restored) -> Decision:
    is_ready = seen.source is not None and seen.source.status.ready_to_use
    if not is_ready or seen.origin is None or not seen.origin.handle:
        return UpdateStatus(PushPhase.ASKED, seen.obstacle)
    if seen.content is None:
        return Make(RestoredPart.CONTENT)
    if seen.snapshot is None:
        return Make(RestoredPart.SNAPSHOT)
    if not seen.snapshot.status.ready_to_use:
        return UpdateStatus(PushPhase.ASKED, seen.obstacle)
    return Make(RestoredPart.CLAIM)


def _unreadable(push: Push, seen: Restored) -> str:
    """Why the snapshot can never be read; empty if it can."""
    name = f"VolumeSnapshot {push.snapshot}"
    if seen.source is None or seen.source.uid != push.snapshot_uid:
        return f"{name} is no longer in namespace {push.claim_namespace}."
    origin = seen.origin
    if origin is None:
        return ""
    of = origin.spec.volume_snapshot_ref
    if (of.namespace, of.name, of.uid) != (push.claim_namespace, push.snapshot, push.snapshot_uid):
        return f"{name} names VolumeSnapshotContent {origin.name}, which is of another snapshot."
    if origin.spec.source_volume_mode == "Block":
        return f"{name} is of a block device, which has no files."
    return ""


def clear(seen: Restored) -> Decision:
    """Deletes the PVC first, as it depends on the others; the driver's snapshot stays."""
    there = {
        RestoredPart.CLAIM: seen.claim,
        RestoredPart.SNAPSHOT: seen.snapshot,
        RestoredPart.CONTENT: seen.content,
    }
    for part, found in there.items():
        if found is not None:
            is_going = found.metadata.deletion_timestamp is not None
            return AwaitDeletion() if is_going else Remove(part, found.uid)
    if seen.volume is None:
        return Done()
    if seen.volume.spec.persistent_volume_reclaim_policy == _RETAIN:
        return Done(seen.volume.name)
    return AwaitDeletion()
