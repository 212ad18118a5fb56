"""Decides what becomes of a request once it is decided. Pure: no I/O."""

from dataclasses import dataclass

from bot.approvals import Approval, ApprovalPhase
from bot.reconcile.decisions import Wait
from bot.training.requests.tables import RequestPhase, RunRequest


@dataclass(frozen=True)
class SubmitRun:
    """The cost was approved: use the approval and submit the run."""


@dataclass(frozen=True)
class EndRequest:
    """Nothing is submitted; sentences say why, and what to do."""

    phase: RequestPhase
    reason: str = ""
    unblock: str = ""


Decision = Wait | SubmitRun | EndRequest
_AGAIN = "Submit the run again."


def decide(row: RunRequest, approval: Approval | None) -> Decision:
    """The next step for a request, by the newest approval of it."""
    if not row.is_live:
        return Wait()
    match approval.phase if approval is not None else ApprovalPhase.VOIDED:
        case ApprovalPhase.ASKED:
            return Wait()
        case ApprovalPhase.APPROVED:
            return SubmitRun()
        case ApprovalPhase.DENIED:
            return EndRequest(RequestPhase.DENIED)
        case ApprovalPhase.EXPIRED:
            return EndRequest(RequestPhase.EXPIRED)
        case _:
            note = approval.note if approval is not None else "Its approval request is void."
            return EndRequest(RequestPhase.REFUSED, note, _AGAIN)
