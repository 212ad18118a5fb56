"""Requests for approval, and the votes on them."""

from bot.approvals.controller import ApprovalController
from bot.approvals.service import Approvals, Request
from bot.approvals.tables import Approval, ApprovalPhase, Verdict, Vote

__all__ = [
    "Approval",
    "ApprovalController",
    "ApprovalPhase",
    "Approvals",
    "Request",
    "Verdict",
    "Vote",
]
