"""Decides the next step for a restore. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.types.claims import PersistentVolumeClaim
from bot.durations import format_duration
from bot.reconcile.decisions import Create, Delete, Done, Fail, UpdateStatus, Wait
from bot.snapshots.tables import Restore, RestorePhase

LATE_AFTER = timedelta(minutes=15)


@dataclass(frozen=True)
class RestoreObserved:
    """What the cluster shows of a restore.

    `has_source` says whether the snapshot or PVC it is created from exists, `is_for_a_pod`
    whether its class creates a volume only for a pod. `warning` is the last event of type Warning.
    `users` are the pods that wait for the PVC, read only if the restore is cancelled.
    """

    claim: PersistentVolumeClaim | None = None
    is_taken: bool = False
    has_source: bool = True
    is_for_a_pod: bool = False
    warning: str = ""
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ready:
    """The PVC has its volume."""


@dataclass(frozen=True)
class Cancelled:
    """The restore is cancelled, and its PVC does not exist."""


@dataclass(frozen=True)
class Keep:
    """The restore continues; a sentence says why it is not cancelled."""

    why: str


@dataclass(frozen=True)
class AwaitDeletion:
    """The PVC is being deleted, or is read-only and holds its snapshot while it exists."""


Decision = (
    Wait | Create | UpdateStatus[RestorePhase] | Ready | Fail | Delete | Cancelled | Keep
    | AwaitDeletion | Done
)  # fmt: skip


def decide(row: Restore, look: RestoreObserved, now: datetime, within: timedelta) -> Decision:
    """The next step for a restore, whose PVC has to be ready `within` that time."""
    if not row.is_live:
        return _after_the_end(row, look)
    if row.cancelled_by is not None:
        return _cancelled(look)
    if look.is_taken and row.uid is None:
        return Fail(
            f"Namespace {row.namespace} already has a PVC {row.claim_name} that Quartermaster did"
            " not create. Nothing was changed.",
            "Choose another name: --as NAME.",
        )
    if look.claim is None or look.is_taken:
        return _absent(row, look, now, within)
    return _present(row, look.claim, look, now, within)


def _cancelled(look: RestoreObserved) -> Decision:
    claim = None if look.is_taken else look.claim
    if claim is None:
        return Cancelled()
    if claim.status.phase == "Bound":
        return Ready()
    if claim.metadata.deletion_timestamp is not None:
        return AwaitDeletion()
    if look.users:
        return Keep(f"It was not cancelled because pods wait for it: {', '.join(look.users)}.")
    return Delete(claim.uid)


def _absent(row: Restore, look: RestoreObserved, now: datetime, within: timedelta) -> Decision:
    if row.uid is not None:
        return Fail("It was deleted outside Quartermaster before it was ready.", _AGAIN)
    what = "snapshot" if row.snapshot_id else "PVC"
    if not look.has_source:
        return Fail(f"The {what} {row.source} that it should be created from no longer exists.")
    if now - row.asked_at > within:
        lasted = format_duration(within)
        return Fail(f"It could not be started within {lasted}. {row.trouble}".rstrip(), _AGAIN)
    return Create()


def _present(
    row: Restore,
    claim: PersistentVolumeClaim,
    look: RestoreObserved,
    now: datetime,
    within: timedelta,
) -> Decision:
    if claim.metadata.deletion_timestamp is not None:
        return Fail("It is being deleted outside Quartermaster.", _AGAIN)
    if claim.status.phase == "Bound":
        return Ready()
    if look.is_for_a_pod:
        return UpdateStatus(RestorePhase.WAITING)
    if row.phase == RestorePhase.MAKING and now - row.since > within:
        lasted = format_duration(within)
        return Fail(f"It had no volume after {lasted}. {look.warning}".rstrip(), _ADMIN)
    return UpdateStatus(RestorePhase.MAKING, look.warning)


def is_late(row: Restore, now: datetime) -> bool:
    """Whether the PVC should be ready by now."""
    return row.phase in {RestorePhase.ASKED, RestorePhase.MAKING} and now - row.since > LATE_AFTER


def _after_the_end(row: Restore, look: RestoreObserved) -> Decision:
    if row.is_cleared:
        return Wait()
    claim = None if look.is_taken else look.claim
    if row.phase == RestorePhase.READY:
        return AwaitDeletion() if row.is_read_only and claim is not None else Done()
    # Bound at the last moment: it holds the requested data, and is left to its owner.
    if claim is None or claim.status.phase == "Bound":
        return Done()
    return Delete(claim.uid) if claim.metadata.deletion_timestamp is None else AwaitDeletion()


_AGAIN = "Restore it again."
_ADMIN = "A platform admin has to check the driver. Then restore it again."
"""The hint if the driver does not create the volume."""
