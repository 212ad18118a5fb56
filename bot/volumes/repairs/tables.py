"""Rows of repairs of Trident's records of moved volumes."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

REPAIR = "anf-repair"


class RepairPhase(StrEnum):
    """The phase of a repair; from DONE on it has ended."""

    ASKED = "asked"
    PATCHING = "patching"
    RESTARTING = "restarting"
    ROLLING = "rolling"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Repair(SQLModel, table=True):
    """A repair of Trident's record of a moved volume, as approvers were shown it.

    `old_id` is the id in Trident's record, `new_id` the one in Azure. The record and the Deployment
    are in `trident_namespace`; the record has the name of the PV. `restart_at` is the restart
    annotation of the controller's pods, `rounds` counts the writes of the record. `stands` says
    what state a failure leaves. `then_kind`, `then_id` and `then_lane` are the row that waits for
    its end.
    """

    __tablename__: ClassVar[Any] = "anf_repairs"
    __table_args__ = (
        Index(
            "ix_anf_repairs_live",
            "cluster",
            "volume_name",
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
    volume_name: str
    old_id: str
    new_id: str
    trident_namespace: str
    deployment: str
    asked_at: datetime = Field(sa_type=Moment)

    phase: str = RepairPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    restart_at: datetime | None = Field(default=None, sa_type=Moment)
    rounds: int = 0
    trouble: str = ""
    reason: str = ""
    unblock: str = ""
    withdrawn_by: str | None = None
    stands: str = ""
    then_kind: str = ""
    then_id: str = ""
    then_lane: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_waiting(self) -> bool:
        """Whether it has not started, so that it can be withdrawn."""
        return self.phase == RepairPhase.ASKED

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, REPAIR, self.id)

    @property
    def lane(self) -> str:
        """The lane that its steps depend on."""
        return cluster_lane(self.cluster)
