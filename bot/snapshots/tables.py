"""Rows of snapshots of teams' PVCs, and of restores, reverts and schedules."""

import hashlib
import json
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, false, text
from sqlmodel import Field, SQLModel

from bot import holds
from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

RUN, SNAPSHOT = holds.RUN, holds.SNAPSHOT
RESTORE, REVERT, SCHEDULE = "restore", "revert", "snapshot-schedule"


class SnapshotPhase(StrEnum):
    """The phase of a snapshot; in the last two it has ended."""

    ASKED = "asked"
    TAKING = "taking"
    READY = "ready"
    DELETING = "deleting"
    DELETED = "deleted"
    FAILED = "failed"


class SnapshotIntent(StrEnum):
    """Whether a snapshot is to be kept or deleted."""

    KEPT = "kept"
    DELETED = "deleted"


class Snapshot(SQLModel, table=True):
    """A snapshot of a team's PVC.

    The first block is written once, the second by services, the rest by the controller. `run_id`
    and `run` are the run whose end it shows, `data` the dataset versions which that run had read,
    each with its digest; `schedule_id` and `slot` are the schedule that it was taken on, and the
    time it was due. It `is_surplus` once its schedule has enough newer ones. `taken_at` is the time
    that it shows, `size_bytes` the least size of a PVC created from it. `deletion_policy` is that
    of its class: with Retain the storage snapshot is kept. It `is_cleared` once it has ended and
    nothing of it is left in the cluster.
    """

    __tablename__: ClassVar[Any] = "snapshots"
    __table_args__ = (
        Index("ix_snapshots_name", "cluster", "namespace", "name", unique=True),
        Index("ix_snapshots_claim", "team", "claim_name"),
        Index("ix_snapshots_slot", "schedule_id", "slot", unique=True),
        Index(
            "ix_snapshots_until",
            "keep_until",
            postgresql_where=text("keep_until IS NOT NULL AND ended_at IS NULL"),
            sqlite_where=text("keep_until IS NOT NULL AND ended_at IS NULL"),
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
    driver: str
    capacity_bytes: int = Field(sa_type=BigInteger)
    name: str
    note: str = ""
    run_id: str | None = Field(default=None, index=True)
    run: str = ""
    data: list[list[str]] = Field(default_factory=list, sa_type=JSON)
    schedule_id: str | None = None
    slot: datetime | None = Field(default=None, sa_type=Moment)
    asked_at: datetime = Field(sa_type=Moment)

    wanted: str = SnapshotIntent.KEPT
    deleted_by: str | None = None
    keep_until: datetime | None = Field(default=None, sa_type=Moment)
    is_surplus: bool = False

    phase: str = SnapshotPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    uid: str | None = None
    snapshot_class: str = ""
    deletion_policy: str = ""
    taken_at: datetime | None = Field(default=None, sa_type=Moment)
    size_bytes: int | None = Field(default=None, sa_type=BigInteger)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    is_late: bool = False
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def is_usable(self) -> bool:
        """Whether a PVC can be created from it."""
        return self.phase == SnapshotPhase.READY and self.wanted == SnapshotIntent.KEPT

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, SNAPSHOT, self.id)


class RestorePhase(StrEnum):
    """The phase of a restore; in the last three it has ended."""

    ASKED = "asked"
    MAKING = "making"
    WAITING = "waiting"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Restore(SQLModel, table=True):
    """A restore: a PVC that is created from a snapshot, or cloned from another PVC.

    The first block is written once, the second by services until the controller acts on it, the
    rest by the controller. `source` is the VolumeSnapshot, or without a `snapshot_id` the PVC, in
    `source_namespace` if that is another one; `run` is the run that waits for it. It is `waiting`
    if its class creates volumes only when the first pod mounts them. A PVC that `is_read_only` is
    the snapshot itself, which is held as long as the PVC exists; one that `is_split` gets copies of
    all blocks, so that nothing depends on its source. It `is_cleared` once nothing is left to do.
    """

    __tablename__: ClassVar[Any] = "restores"
    __table_args__ = (
        Index(
            "ix_restores_live",
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
    snapshot_id: str | None = Field(default=None, index=True)
    source: str
    source_uid: str
    source_namespace: str | None = None
    of_claim: str
    claim_name: str
    storage_class: str
    access_mode: str
    size_bytes: int = Field(sa_type=BigInteger)
    is_read_only: bool = False
    is_split: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    run_id: str | None = Field(default=None, index=True)
    run: str = ""
    asked_at: datetime = Field(sa_type=Moment)

    cancelled_by: str | None = None

    phase: str = RestorePhase.ASKED
    since: datetime = Field(sa_type=Moment)
    uid: str | None = None
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    is_late: bool = False
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, RESTORE, self.id)


class RevertPhase(StrEnum):
    """The phase of a revert; from `done` on it has ended."""

    ASKED = "asked"
    SAVING = "saving"
    REVERTING = "reverting"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Revert(SQLModel, table=True):
    """A PVC that Trident reverts in place, once another person has approved it.

    The first block is written once, the second by services, the rest by the controller. With
    `saves` the PVC is cloned first, by the restore `clone_id`, with that class, mode and size.
    `uid` is that of the request to Trident, `refused_uid` of the last one that was refused for
    now. The row `is_cleared` once the request is deleted and the snapshot is released.
    """

    __tablename__: ClassVar[Any] = "reverts"
    __table_args__ = (
        Index(
            "ix_reverts_live",
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
    snapshot_id: str = Field(index=True)
    snapshot: str
    snapshot_uid: str
    shows_at: datetime = Field(sa_type=Moment)
    claim_name: str
    claim_uid: str
    why: str = ""
    saves: bool = False
    storage_class: str
    access_mode: str
    size_bytes: int = Field(sa_type=BigInteger)
    asked_at: datetime = Field(sa_type=Moment)

    cancelled_by: str | None = None

    phase: str = RevertPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    clone_id: str | None = None
    clone: str = ""
    uid: str | None = None
    refused_uid: str | None = None
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    is_late: bool = False
    is_cleared: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, REVERT, self.id)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown."""
        shown = [self.team, self.cluster, self.namespace, self.claim_name, self.claim_uid]
        shown += [self.snapshot, self.snapshot_uid, str(self.saves), self.why]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


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
