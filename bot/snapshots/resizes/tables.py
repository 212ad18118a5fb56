"""Rows of resizes of teams' PVCs."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import Subject

RESIZE = "pvc-resize"


class ResizePhase(StrEnum):
    """The phase of a resize; from DONE on it has ended."""

    ASKED = "asked"
    PATCHING = "patching"
    GROWING = "growing"
    MOUNTING = "mounting"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Resize(SQLModel, table=True):
    """A PVC that grows permanently.

    The first block is written once, `withdrawn_by` by services, the rest by the controller.
    `size_bytes` is the requested size, `from_bytes` the size before, `cost` what the added size
    costs a month, None if unknown. It is `mounting` while the volume has the size, but its file
    system grows only when a pod mounts it next. `obstacle` is what delays it, as a sentence.
    """

    __tablename__: ClassVar[Any] = "pvc_resizes"
    __table_args__ = (
        Index(
            "ix_pvc_resizes_live",
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
    from_bytes: int = Field(sa_type=BigInteger)
    cost: float | None = None
    asked_at: datetime = Field(sa_type=Moment)

    withdrawn_by: str | None = None

    phase: str = ResizePhase.PATCHING
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
        return Subject(self.workspace_id, RESIZE, self.id)

    @property
    def lane(self) -> str:
        """What its steps wait for."""
        return cluster_lane(self.cluster)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown."""
        shown = [self.team, self.cluster, self.namespace, self.claim_name, self.claim_uid]
        shown += [str(self.size_bytes), str(self.from_bytes), str(self.cost)]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()
