"""Rows of reverts: PVCs that Trident reverts in place to a snapshot."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

REVERT = "revert"


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
