"""Rows of growths of PVCs."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

GROWTH = "anf-growth"


class GrowthPhase(StrEnum):
    """The phase of a growth; from DONE on it has ended."""

    CHECKING = "checking"
    ASKED = "asked"
    PATCHING = "patching"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Growth(SQLModel, table=True):
    """A permanent growth of a PVC.

    `size_bytes` is the requested size, `from_bytes` the size before. The figures of the plan are as
    of the last read from Azure: the throughput, and the added size's share of the pool's bill, None
    if unknown. `obstacle` is what delays it, in Kubernetes' words.
    """

    __tablename__: ClassVar[Any] = "anf_growths"
    __table_args__ = (
        Index(
            "ix_anf_growths_live",
            "cluster",
            "namespace",
            "claim_name",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    person: str
    channel: str
    cluster: str
    namespace: str
    claim_name: str
    claim_uid: str
    size_bytes: int = Field(sa_type=BigInteger)
    from_bytes: int = Field(sa_type=BigInteger)
    asked_at: datetime = Field(sa_type=Moment)

    pool: str = ""
    mibps_before: float | None = None
    mibps_after: float | None = None
    cost: float | None = None

    phase: str = GrowthPhase.CHECKING
    since: datetime = Field(sa_type=Moment)
    trouble: str = ""
    obstacle: str = ""
    reason: str = ""
    unblock: str = ""
    withdrawn_by: str | None = None
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_waiting(self) -> bool:
        """Whether it has not started, so that it can be withdrawn."""
        return self.phase in {GrowthPhase.CHECKING, GrowthPhase.ASKED}

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, GROWTH, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return cluster_lane(self.cluster)
