"""Decides the next step for a revert in place. Pure: no I/O."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.approvals import ApprovalPhase
from bot.cluster.types.snapshots import SnapshotAction
from bot.reconcile.decisions import Create, Delete, Done, UpdateStatus, Wait
from bot.snapshots.classes import Problem
from bot.snapshots.tables import RestorePhase, Revert, RevertPhase

LATE_AFTER = timedelta(minutes=15)
# A clone of some TiB is split off within hours.
SPLIT_WITHIN = timedelta(hours=12)
_DEPENDENT = re.compile(r"clone|busy|split|in use|depend", re.IGNORECASE)


@dataclass(frozen=True)
class RevertObserved:
    """What the rows and the cluster show of a revert.

    `approval` and `clone` are the phases of those, `because` is why the clone failed. `problem` is
    checked only before steps that it would block. `stands` says whether the people who approved
    may still do so.
    """

    approval: ApprovalPhase = ApprovalPhase.ASKED
    clone: RestorePhase | None = None
    because: str = ""
    action: SnapshotAction | None = None
    is_taken: bool = False
    problem: Problem | None = None
    stands: bool = True


@dataclass(frozen=True)
class Approved:
    """The revert was approved: use the approval and begin the next phase."""


@dataclass(frozen=True)
class Begin:
    """The clone is ready: the PVC can be reverted."""


@dataclass(frozen=True)
class Retry:
    """The storage refuses the revert until the clone is split off: try again."""

    uid: str
    obstacle: str


@dataclass(frozen=True)
class End:
    """The revert has ended; sentences give the reason and what to do."""

    phase: RevertPhase
    reason: str = ""
    unblock: str = ""


Decision = (
    Wait | UpdateStatus[RevertPhase] | Approved | Begin | Create | Retry | Delete | End | Done
)


def decide(row: Revert, look: RevertObserved, now: datetime) -> Decision:
    """The next step for a revert."""
    if not row.is_live:
        return _after_the_end(row, look)
    match RevertPhase(row.phase):
        case RevertPhase.ASKED:
            return _asked(row, look)
        case RevertPhase.SAVING:
            return _saving(row, look)
        case _:
            return _reverting(row, look, now)


def is_late(row: Revert, now: datetime) -> bool:
    """Whether Trident should have finished by now."""
    is_waiting = row.refused_uid is not None  # for the store, which may take hours
    is_long = row.phase == RevertPhase.REVERTING and now - row.since > LATE_AFTER
    return is_long and not is_waiting


def _asked(row: Revert, look: RevertObserved) -> Decision:
    if row.cancelled_by is not None:
        return End(RevertPhase.CANCELLED, f"<@{row.cancelled_by}> cancelled it.")
    match look.approval:
        case ApprovalPhase.DENIED:
            return End(RevertPhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return End(RevertPhase.EXPIRED, "It was not decided in time.", "Request it again.")
        case ApprovalPhase.VOIDED:
            return End(RevertPhase.FAILED, "Its approval request is void.", "Request it again.")
        case ApprovalPhase.APPROVED | ApprovalPhase.USED:
            return _failed(look.problem) or Approved()
        case _:
            return Wait()


def _saving(row: Revert, look: RevertObserved) -> Decision:
    if row.cancelled_by is not None:
        return End(RevertPhase.CANCELLED, f"<@{row.cancelled_by}> cancelled it.")
    match look.clone:
        case RestorePhase.READY:
            return Begin()
        case RestorePhase.ASKED | RestorePhase.MAKING:
            return UpdateStatus(RevertPhase.SAVING)
        case RestorePhase.WAITING:
            said = (
                f"PVC {row.clone} gets a volume only when a pod mounts it: nothing would be saved."
            )
            return End(RevertPhase.FAILED, said, _UNSAVED)
        case _:
            said = f"The data of {row.claim_name} could not be saved. {look.because}".rstrip()
            return End(RevertPhase.FAILED, said, _UNSAVED)


def _reverting(row: Revert, look: RevertObserved, now: datetime) -> Decision:
    if look.is_taken:
        said = (
            "The namespace already has an object of that name that Quartermaster did not create. It"
            " was not changed."
        )
        return End(RevertPhase.FAILED, said, "Request it again: it gets a different name.")
    if look.action is not None:
        return _begun(row, look.action, now)
    if row.cancelled_by is not None:
        return End(RevertPhase.CANCELLED, f"<@{row.cancelled_by}> cancelled it.")
    if row.uid is not None:
        said = "Its request to Trident was deleted outside Quartermaster: its progress is unknown."
        unblock = f"Check what {row.claim_name} holds, then request it again."
        return End(RevertPhase.FAILED, said, unblock)
    if not look.stands:
        said = "A person who approved it is no longer allowed to."
        return End(RevertPhase.FAILED, said, "Request it again.")
    return _failed(look.problem) or Create()


def _begun(row: Revert, action: SnapshotAction, now: datetime) -> Decision:
    said = f"{action.status.message.rstrip('. ')}." if action.status.message else ""
    match action.status.state:
        case "Succeeded":
            return End(RevertPhase.DONE)
        case "Failed":
            return _refused(row, action, said, now)
        case "" if row.cancelled_by is not None:
            return Delete(action.uid)
        case "":
            return UpdateStatus(RevertPhase(row.phase), "Trident has not started yet.")
        case _:
            return UpdateStatus(RevertPhase(row.phase), said)


def _refused(row: Revert, action: SnapshotAction, said: str, now: datetime) -> Decision:
    """Ends or retries a revert that Trident refused; a refusal is recorded before its deletion."""
    if row.cancelled_by is not None:
        return End(RevertPhase.CANCELLED, f"<@{row.cancelled_by}> cancelled it.")
    is_of_clones = _DEPENDENT.search(said) is not None
    if not (is_of_clones and row.saves) or now - row.since > SPLIT_WITHIN:
        unblock = _CLONED if is_of_clones else _ADMIN
        return End(RevertPhase.FAILED, f"Trident did not revert it. {said}".rstrip(), unblock)
    if action.uid == row.refused_uid:
        return Delete(action.uid)
    waits = f"The storage refuses it until PVC {row.clone} is split off, which may take hours."
    return Retry(action.uid, f"{waits} {said}")


def _failed(problem: Problem | None) -> End | None:
    if problem is None:
        return None
    return End(RevertPhase.FAILED, f"Nothing was changed. {problem.reason}", problem.unblock)


def _after_the_end(row: Revert, look: RevertObserved) -> Decision:
    action = None if look.is_taken else look.action
    if row.is_cleared:
        return Wait()
    if action is None:
        return Done()
    is_leaving = action.metadata.deletion_timestamp is not None
    return UpdateStatus(RevertPhase(row.phase)) if is_leaving else Delete(action.uid)


_UNSAVED = "The PVC was not reverted. Request it again, with or without a clone."
_ADMIN = "When that is fixed, request it again. Otherwise restore to a new PVC."
_CLONED = (
    "ONTAP refuses while a clone depends on data written after the snapshot. Split that clone off"
    " or delete it, then request it again. Otherwise restore to a new PVC."
)
