"""Decides the next step for a deletion. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.types.claims import PersistentVolumeClaim
from bot.reconcile.decisions import UpdateStatus, Wait
from bot.snapshots.deletions.tables import Deletion, DeletionPhase
from bot.snapshots.tables import Snapshot, SnapshotIntent
from bot.volumes.wording import capacity

SLOW_AFTER = timedelta(minutes=1)


@dataclass(frozen=True)
class DeletionObserved:
    """What the rows and the cluster show of a deletion.

    `claim` is None if the PVC is gone or is another one of the same name. `pods` are those that
    mount it, `needs` what else needs it, as sentences.
    """

    snapshot: Snapshot | None = None
    claim: PersistentVolumeClaim | None = None
    pods: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Saved:
    """The snapshot is ready: the PVC can be deleted."""


@dataclass(frozen=True)
class DeleteClaim:
    """Delete the PVC, if it is still the one that was read."""

    uid: str
    resource_version: str


@dataclass(frozen=True)
class EndDeletion:
    """The deletion has ended; sentences give the reason and what to do."""

    phase: DeletionPhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | UpdateStatus[DeletionPhase] | Saved | DeleteClaim | EndDeletion


def decide(row: Deletion, look: DeletionObserved, now: datetime) -> Decision:
    """The next step for a deletion."""
    match DeletionPhase(row.phase):
        case DeletionPhase.SAVING:
            return _saving(row, look.snapshot)
        case DeletionPhase.DELETING:
            return _deleting(row, look, now)
        case DeletionPhase.LEAVING:
            return _leaving(row, look, now)
        case _:
            return Wait()


def _saving(row: Deletion, snapshot: Snapshot | None) -> Decision:
    if snapshot is not None and snapshot.is_usable:
        return Saved()
    if snapshot is not None and snapshot.is_live and snapshot.wanted == SnapshotIntent.KEPT:
        return UpdateStatus(DeletionPhase.SAVING)
    why = snapshot.reason if snapshot is not None else ""
    said = f"Snapshot {row.snapshot} could not be taken. {why}".strip()
    return EndDeletion(
        DeletionPhase.FAILED, f"{said} {_KEPT}", "When that is fixed, request it again."
    )


def _deleting(row: Deletion, look: DeletionObserved, now: datetime) -> Decision:
    claim = look.claim
    if claim is None:
        return EndDeletion(DeletionPhase.DONE)
    if claim.metadata.deletion_timestamp is not None:
        return _leaving(row, look, now)
    needs = [f"{each[:1].upper()}{each[1:]} mounts it." for each in look.pods] + list(look.needs)
    if needs:
        said = f"PVC {row.claim_name} is needed now. {' '.join(needs)}"
        return EndDeletion(
            DeletionPhase.FAILED, f"{said} {_KEPT}", "When they have ended, request it again."
        )
    if row.size_bytes and (claim.size_bytes or 0) > row.size_bytes:
        has, had = capacity(claim.size_bytes or 0), capacity(row.size_bytes)
        said = f"PVC {row.claim_name} has {has} now, and {had} when its deletion was requested."
        return EndDeletion(
            DeletionPhase.FAILED, f"{said} {_KEPT}", "Look at it first; then request it again."
        )
    return DeleteClaim(claim.uid, claim.metadata.resource_version)


def _leaving(row: Deletion, look: DeletionObserved, now: datetime) -> Decision:
    if look.claim is None:
        return EndDeletion(DeletionPhase.DONE)
    if look.pods:
        held = f"Kubernetes deletes it once these no longer mount it: {', '.join(look.pods)}."
        return UpdateStatus(DeletionPhase.LEAVING, held)
    is_slow = row.phase == DeletionPhase.LEAVING and now - row.since > SLOW_AFTER
    return UpdateStatus(DeletionPhase.LEAVING, _SLOW.format(row=row) if is_slow else "")


_SLOW = (
    "Kubernetes has not deleted it yet. Its finalizers show what it waits for: `kubectl describe"
    " pvc {row.claim_name} -n {row.namespace}`."
)
_KEPT = "The PVC was not deleted."
