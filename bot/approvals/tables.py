"""The rows of requests for approval, and of the votes on them."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

KIND = "approval"
LANE = "approvals"


class ApprovalPhase(StrEnum):
    """The phase of a request; ASKED is pending, USED is after its action."""

    ASKED = "asked"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    VOIDED = "voided"
    USED = "used"


class Verdict(StrEnum):
    """One person's vote."""

    APPROVE = "approve"
    DENY = "deny"


class Approval(SQLModel, table=True):
    """A request about a subject; `digest` is a hash of what the approvers were shown."""

    __tablename__: ClassVar[Any] = "approvals"

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    subject_kind: str
    subject_id: str = Field(index=True)
    lane: str
    policy: str
    digest: str
    requester: str
    channel: str
    team: str | None
    reason: str
    needed: int
    phase: str = Field(default=ApprovalPhase.ASKED, index=True)
    asked_at: datetime = Field(sa_type=Moment)
    expires_at: datetime = Field(sa_type=Moment)
    remind_at: datetime | None = Field(default=None, sa_type=Moment)
    decided_at: datetime | None = Field(default=None, sa_type=Moment)
    is_break_glass: bool = False
    note: str = ""


class Vote(SQLModel, table=True):
    """One person's vote on one request; each person's latest vote counts."""

    __tablename__: ClassVar[Any] = "votes"
    __table_args__ = (UniqueConstraint("approval_id", "person"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    approval_id: str = Field(foreign_key="approvals.id")
    person: str
    verdict: str
    at: datetime = Field(sa_type=Moment)


def subject_of(approval: Approval) -> Subject:
    """What the request is about, as messages name it."""
    return Subject(approval.workspace_id, approval.subject_kind, approval.subject_id)
