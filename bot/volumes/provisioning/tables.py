"""Rows of capacity pools that are created or deleted."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject
from bot.volumes.resources import PoolPlace

POOL_REQUEST, LANE = "anf-pool", "arm"


class PoolVerb(StrEnum):
    """What is done with a pool."""

    CREATE = "create"
    DELETE = "delete"


class PoolPhase(StrEnum):
    """The phase of a request; from DONE on it has ended."""

    ASKED = "asked"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class PoolRequest(SQLModel, table=True):
    """A capacity pool that is created or deleted, once that is approved.

    The first block is written once. `place_key` identifies the pool, in lower case. `cost` is what
    it costs a month, None if unknown, `uuid` Azure's own id of a pool to delete, and `is_own` says
    that the bot created it. `withdrawn_by` is written by services, the rest by the controller:
    `operation` is the URL of the operation in Azure, `obstacle` what delays it, as a sentence.
    """

    __tablename__: ClassVar[Any] = "anf_pool_requests"
    __table_args__ = (
        Index(
            "ix_anf_pool_requests_live",
            "place_key",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    verb: str
    person: str
    channel: str
    subscription: str
    resource_group: str
    account: str
    pool: str
    place_key: str
    level: str
    qos: str
    size_bytes: int = Field(sa_type=BigInteger)
    mibps: int | None = None
    cost: float | None = None
    uuid: str = ""
    is_own: bool = True
    asked_at: datetime = Field(sa_type=Moment)

    withdrawn_by: str | None = None

    phase: str = PoolPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    operation: str = ""
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
    def place(self) -> PoolPlace:
        """The place of the pool."""
        return PoolPlace(self.subscription, self.resource_group, self.account, self.pool)

    @property
    def subject(self) -> Subject:
        """The subject of its messages."""
        return Subject(self.workspace_id, POOL_REQUEST, self.id)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown."""
        shown = [self.verb, *self.place, self.level, self.qos, self.uuid]
        figures = [self.size_bytes, self.mibps, self.cost, self.is_own]
        return hashlib.sha256(json.dumps([*shown, *figures]).encode()).hexdigest()
