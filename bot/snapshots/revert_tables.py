"""PVCs that are put back to what a snapshot of theirs shows, as rows."""

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
    """How far it is; from `done` on they are ends."""

    ASKED = "asked"
    SAVING = "saving"
    REVERTING = "reverting"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Revert(SQLModel, table=True):
    """A PVC that is put back in place, by Trident, once somebody has approved it.

    The first block is written once, the second by services, the rest by the controller. With
    `saves` a clone of what the PVC holds is made first, by the restore `clone_id`, of that class,
    mode and size. `uid` is that of what asks Trident, `refused_uid` of what
    asked it last and was refused for now. It `is_cleared` once that is removed and the
    snapshot is let go of.
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
        """What its messages are about."""
        return Subject(self.workspace_id, REVERT, self.id)

    @property
    def digest(self) -> str:
        """A digest of what those who decide are shown."""
        shown = [self.team, self.cluster, self.namespace, self.claim_name, self.claim_uid]
        shown += [self.snapshot, self.snapshot_uid, str(self.saves), self.why]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()
