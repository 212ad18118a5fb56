"""The table of waits: people who are notified once when GPUs are free for their team."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.gpus.amounts import WHOLE
from bot.slack.messages import Subject

WAIT = "gpu-wait"


class WaitPhase(StrEnum):
    """The phase of a wait; all but the first are ends.

    REVOKED is the end of one whose person may no longer act for the team.
    """

    WAITING = "waiting"
    FREE = "free"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REVOKED = "revoked"


class GpuWait(SQLModel, table=True):
    """A person who is notified once when a team has so many GPUs free, until `until` at the latest.

    `gpus` are thousandths of a GPU. `gpu_type` is empty if any one type will do.
    """

    __tablename__: ClassVar[Any] = "gpu_waits"
    __table_args__ = (
        Index(
            "ix_gpu_waits_live",
            "person",
            "team",
            "cluster",
            "gpu_type",
            "gpus",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
        Index(
            "ix_gpu_waits_ended",
            "ended_at",
            postgresql_where=text("ended_at IS NOT NULL"),
            sqlite_where=text("ended_at IS NOT NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    cluster: str
    gpu_type: str
    gpus: int
    asked_at: datetime = Field(sa_type=Moment)
    until: datetime = Field(sa_type=Moment)
    phase: str = WaitPhase.WAITING
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def wanted(self) -> Decimal:
        """The number of GPUs."""
        return Decimal(self.gpus) / WHOLE

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do."""
        return self.ended_at is not None

    @property
    def subject(self) -> Subject:
        """What its message is about."""
        return Subject(self.workspace_id, WAIT, self.id)
