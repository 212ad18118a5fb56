"""Rows of snapshot schedules."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

SCHEDULE = "snapshot-schedule"


class SnapshotSchedule(SQLModel, table=True):
    """When snapshots of a PVC are taken, and how many are kept.

    The first block is written by services, the rest by the controller, apart from `next_at`,
    which services set too when the pattern changes. Snapshots are kept `keep_seconds`, and `most`
    of them; None means no such limit. `reported_at` is when a failure was last posted, `failures`
    how many there were since a snapshot was ready, `missing_since` when the PVC was first found
    missing. `others` are schedules of snapscheduler that take snapshots of the PVC too.
    """

    __tablename__: ClassVar[Any] = "snapshot_schedules"
    __table_args__ = (
        Index(
            "ix_snapshot_schedules_live",
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
    team: str = Field(index=True)
    person: str
    channel: str
    cluster: str
    namespace: str
    claim_name: str
    cron: str
    time_zone: str
    keep_seconds: int | None = None
    most: int | None = None
    asked_at: datetime = Field(sa_type=Moment)

    next_at: datetime = Field(sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    last_id: str | None = None
    said: str = ""
    obstacle: str = ""
    trouble: str = ""
    failures: int = 0
    reported_at: datetime | None = Field(default=None, sa_type=Moment)
    missing_since: datetime | None = Field(default=None, sa_type=Moment)
    others: list[str] = Field(default_factory=list, sa_type=JSON)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def keep(self) -> timedelta | None:
        """How long each snapshot is kept; None for no limit."""
        return None if self.keep_seconds is None else timedelta(seconds=self.keep_seconds)

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, SCHEDULE, self.id)
