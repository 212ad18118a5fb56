"""Decides the next step for a snapshot. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.types.snapshots import VolumeSnapshot, VolumeSnapshotContent
from bot.durations import format_duration
from bot.reconcile.decisions import Delete, Done, Fail, UpdateStatus, Wait
from bot.snapshots.classes import Problem
from bot.snapshots.examining import SnapshotPlan
from bot.snapshots.tables import Snapshot, SnapshotIntent, SnapshotPhase

# Most drivers take seconds; those that copy into an object store take longer and say nothing.
LATE_AFTER = timedelta(minutes=10)
# Most drivers delete a snapshot within this time.
SLOW_AFTER = timedelta(seconds=30)


@dataclass(frozen=True)
class SnapshotObserved:
    """What the cluster shows of a snapshot.

    `plan` is how it would be taken, if that was examined; `content` its VolumeSnapshotContent,
    once it is ready; `users` why it has to stay, if it is to be deleted.
    """

    snapshot: VolumeSnapshot | None = None
    is_taken: bool = False
    plan: SnapshotPlan | Problem | None = None
    content: VolumeSnapshotContent | None = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class TakeSnapshot:
    """Create the VolumeSnapshot."""

    plan: SnapshotPlan


@dataclass(frozen=True)
class Ready:
    """The snapshot is ready: PVCs can be created from it."""

    taken_at: datetime | None
    size_bytes: int | None


@dataclass(frozen=True)
class Stay:
    """The snapshot is needed and is not deleted; a sentence gives the reason."""

    why: str


@dataclass(frozen=True)
class Gone:
    """The snapshot is deleted; `why` is set if that happened outside Quartermaster."""

    why: str = ""


@dataclass(frozen=True)
class AwaitDeletion:
    """The snapshot is being deleted; a sentence says what that waits for."""

    why: str


Decision = (
    Wait | TakeSnapshot | UpdateStatus[SnapshotPhase] | Ready | Fail | Delete | Stay | Gone
    | AwaitDeletion | Done
)  # fmt: skip


def decide(row: Snapshot, look: SnapshotObserved, now: datetime, within: timedelta) -> Decision:
    """The next step for a snapshot that has to be ready `within` that time."""
    found = None if look.is_taken else look.snapshot
    if not row.is_live:
        return _after_the_end(row, found, now)
    if look.is_taken and row.uid is None:
        return Fail(
            f"Namespace {row.namespace} already has a VolumeSnapshot {row.name} that Quartermaster"
            " did not create. Nothing was changed.",
            "Take another snapshot: it gets a different name.",
        )
    if row.wanted == SnapshotIntent.DELETED:
        return _deleting(row, found, look.users, now)
    if found is None:
        return _absent(row, look, now, within)
    if found.metadata.deletion_timestamp is not None:
        said = f"It is being deleted outside Quartermaster. {waits_for(found)}".rstrip()
        return (
            UpdateStatus(SnapshotPhase.DELETING, said) if row.phase in _WERE_READY else Fail(said)
        )
    return _present(row, found, look, now, within)


def is_late(row: Snapshot, now: datetime) -> bool:
    """Whether the snapshot should be ready by now."""
    return (
        row.phase in {SnapshotPhase.ASKED, SnapshotPhase.TAKING} and now - row.asked_at > LATE_AFTER
    )


def waits_for(found: VolumeSnapshot) -> str:
    """What delays the deletion of a VolumeSnapshot, as a sentence."""
    kept = ", ".join(each.rpartition("/")[2] for each in found.metadata.finalizers)
    return f"{_STAYS} (finalizers: {kept})." if kept else ""


def _after_the_end(row: Snapshot, found: VolumeSnapshot | None, now: datetime) -> Decision:
    if row.is_cleared:
        return Wait()
    if found is None:
        return Done()
    if found.metadata.deletion_timestamp is None:
        return Delete(found.uid)
    return _lingering(row, found, now)


def _lingering(row: Snapshot, found: VolumeSnapshot, now: datetime) -> Decision:
    is_slow = now - row.since > SLOW_AFTER
    return AwaitDeletion(f"It still exists. {waits_for(found)}".rstrip() if is_slow else "")


def _deleting(
    row: Snapshot, found: VolumeSnapshot | None, users: tuple[str, ...], now: datetime
) -> Decision:
    if found is None:
        return Gone()
    if found.metadata.deletion_timestamp is not None:
        return _lingering(row, found, now)
    if users:
        return Stay(" ".join(users))
    return Delete(found.uid)


def _absent(row: Snapshot, look: SnapshotObserved, now: datetime, within: timedelta) -> Decision:
    if row.phase in _WERE_READY:
        return Gone("It was deleted outside Quartermaster.")
    if row.uid is not None:
        return Fail("It was deleted outside Quartermaster.", _AGAIN)
    match look.plan:
        case Problem(reason, unblock):
            return Fail(reason, unblock)
        case SnapshotPlan() as plan if row.claim_uid and plan.claim_uid != row.claim_uid:
            said = f"PVC {row.claim_name} is now a different PVC: the original was deleted."
            return Fail(said, "Take a snapshot of the new PVC, if you want one.")
        case SnapshotPlan() if now - row.asked_at > within:
            lasted = format_duration(within)
            return Fail(f"It could not be started within {lasted}. {row.trouble}".rstrip(), _AGAIN)
        case SnapshotPlan() as plan:
            return TakeSnapshot(plan)
        case _:
            return UpdateStatus(SnapshotPhase.ASKED)


def _present(
    row: Snapshot, found: VolumeSnapshot, look: SnapshotObserved, now: datetime, within: timedelta
) -> Decision:
    status = found.status
    error = f"{status.error.message.rstrip('. ')}." if status.error is not None else ""
    if row.phase == SnapshotPhase.READY:
        return UpdateStatus(SnapshotPhase.READY)
    if status.ready_to_use and look.content is not None:
        if look.content.spec.volume_snapshot_ref.uid != found.uid:
            said = (
                f"Its VolumeSnapshotContent {look.content.name} belongs to another VolumeSnapshot."
            )
            return Fail(said, _ADMIN)
        size = status.restore_size
        return Ready(status.creation_time, None if size is None else int(size))
    if now - row.asked_at > within:
        lasted = format_duration(within)
        return Fail(f"It was not ready within {lasted}. {error}".rstrip(), _ADMIN)
    return UpdateStatus(SnapshotPhase.TAKING, error)


# If the deletion was not requested here, it is followed only for snapshots that were ready.
_WERE_READY = {SnapshotPhase.READY, SnapshotPhase.DELETING}
_STAYS = (
    "It stays until its driver has deleted the storage snapshot and no PVC is being created from it"
)
_AGAIN = "Take another snapshot."
_ADMIN = "A platform admin has to check the driver. Then take another snapshot."
