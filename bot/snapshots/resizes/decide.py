"""Decides the next step for a resize. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.approvals import ApprovalPhase
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.durations import format_duration
from bot.reconcile.decisions import UpdateStatus, Wait
from bot.snapshots.classes import Problem
from bot.snapshots.resizes.tables import Resize, ResizePhase
from bot.volumes.wording import capacity

WITHIN = timedelta(days=1)
_ERRORS = ("ControllerResizeError", "NodeResizeError")
_NOTHING = "Nothing was changed."


@dataclass(frozen=True)
class ResizeObserved:
    """What the rows and the cluster show of a resize.

    `claim` is None if the PVC is gone or is another one of the same name. `problem` is why
    Kubernetes would refuse to grow it now.
    """

    approval: ApprovalPhase = ApprovalPhase.ASKED
    note: str = ""
    claim: PersistentVolumeClaim | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class Approved:
    """The resize was approved: use the approval and begin."""


@dataclass(frozen=True)
class Patch:
    """Request the size in the PVC, if the PVC has not changed since it was read."""

    resource_version: str


@dataclass(frozen=True)
class EndResize:
    """The resize has ended; sentences give the reason and what to do."""

    phase: ResizePhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | UpdateStatus[ResizePhase] | Approved | Patch | EndResize


def decide(row: Resize, look: ResizeObserved, now: datetime) -> Decision:
    """The next step for a resize."""
    match ResizePhase(row.phase):
        case ResizePhase.ASKED:
            return _asked(row, look)
        case ResizePhase.PATCHING:
            return _patching(row, look)
        case ResizePhase.GROWING | ResizePhase.MOUNTING:
            return _growing(row, look, now)
        case _:
            return Wait()


def _asked(row: Resize, look: ResizeObserved) -> Decision:
    match look.approval:
        case ApprovalPhase.DENIED:
            return EndResize(ResizePhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndResize(ResizePhase.EXPIRED)
        case ApprovalPhase.VOIDED:
            return EndResize(ResizePhase.FAILED, look.note, "Request it again.")
        case ApprovalPhase.APPROVED | ApprovalPhase.USED:
            return _refused(row, look) or Approved()
        case _:
            return Wait()


def _patching(row: Resize, look: ResizeObserved) -> Decision:
    claim = look.claim
    if claim is not None and (claim.requested_bytes or 0) >= row.size_bytes:
        return UpdateStatus(ResizePhase.GROWING)
    refused = _refused(row, look)
    if refused is not None or claim is None:
        return refused or Wait()
    return Patch(claim.metadata.resource_version)


def _refused(row: Resize, look: ResizeObserved) -> EndResize | None:
    if look.claim is None:
        said = f"PVC {row.claim_name} no longer exists. {_NOTHING}"
        return EndResize(ResizePhase.FAILED, said)
    if look.problem is None or (look.claim.requested_bytes or 0) >= row.size_bytes:
        return None
    said = look.problem.reason.removesuffix(_NOTHING).strip()
    return EndResize(ResizePhase.FAILED, f"{said} {_NOTHING}", look.problem.unblock)


def _growing(row: Resize, look: ResizeObserved, now: datetime) -> Decision:
    claim = look.claim
    if claim is None or claim.metadata.deletion_timestamp is not None:
        said = f"PVC {row.claim_name} was deleted before it had grown."
        return EndResize(ResizePhase.FAILED, said)
    if int(claim.status.capacity.get("storage") or 0) >= row.size_bytes:
        return EndResize(ResizePhase.DONE)
    if (claim.requested_bytes or 0) < row.size_bytes:
        wants = capacity(claim.requested_bytes or 0)
        said = f"Its request was changed to {wants} outside Quartermaster."
        return EndResize(ResizePhase.FAILED, said, "Request it again if it has to grow.")
    told = {each.type: each.message for each in claim.status.conditions if each.true}
    if "FileSystemResizePending" in told:
        return UpdateStatus(ResizePhase.MOUNTING)
    problem = next((f"{each}: {told[each]}" for each in _ERRORS if told.get(each)), "")
    if now - row.since > WITHIN and row.phase == ResizePhase.GROWING:
        return _late(row, problem)
    return UpdateStatus(ResizePhase.GROWING, problem)


def _late(row: Resize, problem: str) -> EndResize:
    said = f"It did not grow within {format_duration(WITHIN)}. {problem}".strip()
    asks = f"The PVC keeps requesting {capacity(row.size_bytes)}, and its driver keeps trying."
    return EndResize(
        ResizePhase.FAILED, said, f"{asks} A platform admin has to check the CSI driver."
    )
