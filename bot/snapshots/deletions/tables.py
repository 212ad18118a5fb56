"""Rows of deletions of teams' PVCs."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

DELETION = "pvc-deletion"


class DeletionPhase(StrEnum):
    """The phase of a deletion; from DONE on it has ended."""

    SAVING = "saving"
    DELETING = "deleting"
    LEAVING = "leaving"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Deletion(SQLModel, table=True):
    """A PVC that is deleted.

    The first block is written once, `cancelled_by` by services, the rest by the controller. It is
    `saving` until the snapshot `snapshot_id` is ready, and `leaving` once Kubernetes was asked to
    delete the PVC. `reclaim_policy` is that of its PV `volume_name`; with Retain its data stays.
    `obstacle` is what Kubernetes waits for, as a sentence.
    """

    __tablename__: ClassVar[Any] = "pvc_deletions"
    __table_args__ = (
        Index(
            "ix_pvc_deletions_live",
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
    storage_class: str
    size_bytes: int = Field(sa_type=BigInteger)
    volume_name: str = ""
    reclaim_policy: str = ""
    snapshot_id: str | None = None
    snapshot: str = ""
    asked_at: datetime = Field(sa_type=Moment)

    cancelled_by: str | None = None

    phase: str = DeletionPhase.DELETING
    since: datetime = Field(sa_type=Moment)
    trouble: str = ""
    obstacle: str = ""
    reason: str = ""
    unblock: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do: once it has ended."""
        return not self.is_live

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, DELETION, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return cluster_lane(self.cluster)
