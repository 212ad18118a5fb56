"""The table of requests to remove what costs or holds more than people may remove alone."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

REMOVAL_REQUEST = "removal-request"


class RemovalKind(StrEnum):
    """What can be removed."""

    CLAIM = "pvc"
    SNAPSHOT = "snapshot"
    CACHE = "cache"
    OBJECT = "object"


class RemovalPhase(StrEnum):
    """The phase of a request; all but ASKED are ends."""

    ASKED = "asked"
    STARTED = "started"
    REFUSED = "refused"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class RemovalRequest(SQLModel, table=True):
    """A removal that starts once it is approved.

    The first block is written once. `value` is that of the button which removes the thing, and
    `thing` identifies it: a uid, or the id of its row. `team` is empty for what belongs to none.
    `size_bytes` and `cost` (a month) are what the approvers see, None if unknown. `withdrawn_by`
    is written by services, the rest by the controller.
    """

    __tablename__: ClassVar[Any] = "removal_requests"
    __table_args__ = (
        Index(
            "ix_removal_requests_live",
            "kind",
            "thing",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    team: str
    kind: str
    thing: str
    value: str
    title: str
    place: str
    size_bytes: int | None = Field(default=None, sa_type=BigInteger)
    cost: float | None = None
    person: str
    channel: str
    asked_at: datetime = Field(sa_type=Moment)

    withdrawn_by: str | None = None

    phase: str = RemovalPhase.ASKED
    since: datetime = Field(sa_type=Moment)
    reason: str = ""
    unblock: str = ""
    obstacle: str = ""
    trouble: str = ""
    ended_at: datetime | None = Field(default=None, sa_type=Moment)

    @property
    def is_live(self) -> bool:
        """Whether it waits for a decision."""
        return self.ended_at is None

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do."""
        return not self.is_live

    @property
    def subject(self) -> Subject:
        """What its messages are about."""
        return Subject(self.workspace_id, REMOVAL_REQUEST, self.id)

    @property
    def digest(self) -> str:
        """A digest of what approvers are shown, and of what is removed."""
        shown = [self.team, self.kind, self.thing, self.value, self.title, self.place]
        sized = [self.size_bytes, self.cost, self.person]
        return hashlib.sha256(json.dumps([*shown, *sized]).encode()).hexdigest()
