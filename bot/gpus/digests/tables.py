"""The tables of digests: the schedule chosen for each channel, and the digests posted."""

from datetime import date, datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Date, UniqueConstraint
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment, new_id
from bot.slack.messages import Subject

DIGEST = "gpu-digest"


class Period(StrEnum):
    """The time that a digest covers."""

    DAY = "day"
    WEEK = "week"


class DigestChoice(SQLModel, table=True):
    """A channel's digest as set in Slack, which overrides the file; off if not `is_on`."""

    __tablename__: ClassVar[Any] = "digest_choices"

    workspace_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    is_on: bool = True
    at: str = "09:00"
    time_zone: str = "UTC"
    daily: bool = True
    weekly: str | None = None
    sections: list[str] = Field(default_factory=list, sa_type=JSON)
    person: str
    chosen_at: datetime = Field(sa_type=Moment)


class Digest(SQLModel, table=True):
    """One digest in one channel: `day` is the local date of its slot, at most one per period.

    A requested digest has its own `number`, scheduled ones have 0. `figures` are its contents:
    None until they are gathered, and None if it was skipped. `note` says why it was skipped or is
    late.
    """

    __tablename__: ClassVar[Any] = "digests"
    __table_args__ = (UniqueConstraint("workspace_id", "channel", "period", "day", "number"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    channel: str
    period: str
    day: date = Field(sa_type=Date)
    number: str = "0"
    team: str | None = None
    begun: datetime = Field(sa_type=Moment)
    ended: datetime = Field(sa_type=Moment)
    time_zone: str
    sections: list[str] = Field(sa_type=JSON)
    asked_at: datetime = Field(sa_type=Moment)
    is_skipped: bool = False
    note: str = ""
    figures: dict[str, Any] | None = Field(default=None, sa_type=JSON)

    @property
    def subject(self) -> Subject:
        """What its message is about."""
        return Subject(self.workspace_id, DIGEST, self.id)
