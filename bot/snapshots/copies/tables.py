"""Rows of copies of teams' PVCs to PVCs that many pods can mount."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

COPY = "pvc-copy"


class CopyPhase(StrEnum):
    """The phase of a copy; from DONE on it has ended."""

    ASKED = "asked"
    PREPARING = "preparing"
    STARTING = "starting"
    COPYING = "copying"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class CopySource(StrEnum):
    """What is read: the PVC while nothing mounts it, the PVC in use, or a snapshot of it."""

    IDLE = "idle"
    LIVE = "live"
    SNAPSHOT = "snapshot"


class Copy(SQLModel, table=True):
    """A copy of a PVC to a new one with access mode ReadWriteMany.

    The first block is written once, `stopped_by` by services, the rest by the controller.
    `target_uid` is that of the PVC to go on with, or of the one that was created. `cost` is what
    the new PVC costs a month, `source_cost` what the old one does, None if unknown. `counts` is
    what the worker kept and left out. It is cleared once the Job, and the snapshot and PVC that it
    read, are gone. `obstacle` is what delays it, as a sentence.
    """

    __tablename__: ClassVar[Any] = "pvc_copies"
    __table_args__ = (
        Index(
            "ix_pvc_copies_live",
            "cluster",
            "namespace",
            "target",
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
    source_class: str
    source_bytes: int = Field(sa_type=BigInteger)
    access_mode: str
    reads: str
    snapshot_class: str = ""
    target: str
    storage_class: str
    size_bytes: int = Field(sa_type=BigInteger)
    cost: float | None = None
    source_cost: float | None = None
    job_name: str
    asked_at: datetime = Field(sa_type=Moment)

    stopped_by: str | None = None

    phase: str = CopyPhase.PREPARING
    since: datetime = Field(sa_type=Moment)
    began_at: datetime | None = Field(default=None, sa_type=Moment)
    target_uid: str | None = None
    job_uid: str | None = None
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    stage: str = ""
    files_total: int | None = Field(default=None, sa_type=BigInteger)
    bytes_total: int | None = Field(default=None, sa_type=BigInteger)
    files_done: int = Field(default=0, sa_type=BigInteger)
    bytes_done: int = Field(default=0, sa_type=BigInteger)
    bytes_per_second: float | None = None
    copied_files: int = Field(default=0, sa_type=BigInteger)
    counts: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    others: int = 0
    changed: int = 0
    trouble: str = ""
    obstacle: str = ""
    reason: str = ""
    unblock: str = ""
    is_cleared: bool = False
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, COPY, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return cluster_lane(self.cluster)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown."""
        shown = [self.team, self.cluster, self.namespace, self.claim_name, self.claim_uid]
        shown += [self.target, self.storage_class, str(self.size_bytes), str(self.cost), self.reads]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()
