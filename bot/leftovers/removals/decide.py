"""Decides what becomes of a request once it is decided. Pure: no I/O."""

from dataclasses import dataclass

from bot.approvals import Approval, ApprovalPhase
from bot.leftovers.removals.tables import RemovalPhase, RemovalRequest
from bot.reconcile.decisions import Wait


@dataclass(frozen=True)
class StartRemoval:
    """It was approved: use the approval and remove the thing."""


@dataclass(frozen=True)
class EndRemoval:
    """Nothing is removed; sentences say why, and what to do."""

    phase: RemovalPhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | StartRemoval | EndRemoval


def decide(row: RemovalRequest, approval: Approval | None) -> Decision:
    """The next step for a request, by its newest approval."""
    if not row.is_live:
        return Wait()
    match approval.phase if approval is not None else ApprovalPhase.VOIDED:
        case ApprovalPhase.ASKED:
            return Wait()
        case ApprovalPhase.APPROVED:
            return StartRemoval()
        case ApprovalPhase.DENIED:
            return EndRemoval(RemovalPhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndRemoval(RemovalPhase.EXPIRED)
        case _:
            note = approval.note if approval is not None else "Its approval request is void."
            return EndRemoval(RemovalPhase.REFUSED, note, "Request it again.")
