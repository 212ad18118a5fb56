"""Slack users as last read from Slack: guests, outsiders, time zones and user groups."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import and_, bindparam, or_, select
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment
from bot.database.prepared import Prepared
from bot.reconcile.due import wake

PERSON = "person"
GROUP = "group"
CHANNEL = "channel"
LANE = "slack"


class Person(SQLModel, table=True):
    """A Slack user; the other columns mean nothing until `refreshed_at` is set."""

    __tablename__: ClassVar[Any] = "people"

    workspace_id: str = Field(primary_key=True)
    user_id: str = Field(primary_key=True)
    name: str = ""
    time_zone: str = "UTC"
    is_guest: bool = True
    is_stranger: bool = True
    is_gone: bool = False
    refreshed_at: datetime | None = Field(default=None, sa_type=Moment)


class GroupMember(SQLModel, table=True):
    """One person in one Slack user group."""

    __tablename__: ClassVar[Any] = "group_members"

    workspace_id: str = Field(primary_key=True)
    group_id: str = Field(primary_key=True)
    user_id: str = Field(primary_key=True, index=True)


class Channel(SQLModel, table=True):
    """A Slack channel that the configuration names, as Slack last described it."""

    __tablename__: ClassVar[Any] = "channels"

    workspace_id: str = Field(primary_key=True)
    channel_id: str = Field(primary_key=True)
    is_shared_outside: bool = False
    refreshed_at: datetime | None = Field(default=None, sa_type=Moment)


@dataclass(frozen=True)
class Membership:
    """What a person's rights depend on: their user groups, and whether they are excluded."""

    is_out: bool
    groups: frozenset[str]


# Built once, because building it takes longer than running it.
_MEMBERSHIP = Prepared(
    select(
        or_(col(Person.is_guest), col(Person.is_stranger), col(Person.is_gone)).label("is_out"),
        col(GroupMember.group_id),
    )
    .outerjoin(
        GroupMember,
        and_(
            col(GroupMember.workspace_id) == col(Person.workspace_id),
            col(GroupMember.user_id) == col(Person.user_id),
        ),
    )
    .where(
        col(Person.workspace_id) == bindparam("workspace"),
        col(Person.user_id) == bindparam("user"),
        col(Person.refreshed_at).is_not(None),
    )
)
_SHARED_OUTSIDE = Prepared(
    select(col(Channel.is_shared_outside)).where(
        col(Channel.workspace_id) == bindparam("workspace"),
        col(Channel.channel_id) == bindparam("channel"),
    )
)


def row_id(workspace_id: str, slack_id: str) -> str:
    """The id of a person, group or channel in the due table."""
    return f"{workspace_id}:{slack_id}"


def known(session: Session, workspace_id: str, user_id: str) -> Person | None:
    """The person as last read from Slack, or None if not read yet."""
    person = session.get(Person, (workspace_id, user_id))
    return person if person is not None and person.refreshed_at else None


def membership(session: Session, workspace_id: str, user_id: str) -> Membership | None:
    """The person's membership as last read from Slack, or None if not read yet."""
    asked = {"workspace": workspace_id, "user": user_id}
    rows = _MEMBERSHIP(session, asked).rows
    if not rows:
        return None
    groups = frozenset(group for _, group in rows if group is not None)
    return Membership(bool(rows[0][0]), groups)


def get_to_know(session: Session, workspace_id: str, user_id: str, now: datetime) -> None:
    """Schedules a lookup of this person in Slack, in the background."""
    if session.get(Person, (workspace_id, user_id)) is None:
        session.add(Person(workspace_id=workspace_id, user_id=user_id))
    wake(session, PERSON, row_id(workspace_id, user_id), LANE, now)


def look_at_channel(session: Session, workspace_id: str, channel_id: str, now: datetime) -> None:
    """Schedules a lookup of this channel in Slack, in the background."""
    wake(session, CHANNEL, row_id(workspace_id, channel_id), LANE, now)


def is_shared_outside(session: Session, workspace_id: str, channel_id: str) -> bool:
    """Whether another company is known to be in a channel, or to be invited to it."""
    asked = {"workspace": workspace_id, "channel": channel_id}
    return any(is_shared for (is_shared,) in _SHARED_OUTSIDE(session, asked).rows)


def groups_of(session: Session, workspace_id: str, user_id: str) -> frozenset[str]:
    """The user groups this person is in."""
    return frozenset(
        session.scalars(
            select(col(GroupMember.group_id)).where(
                col(GroupMember.workspace_id) == workspace_id,
                col(GroupMember.user_id) == user_id,
            )
        )
    )


def members_of(session: Session, workspace_id: str, group_id: str) -> set[str]:
    """The people in a user group."""
    return set(
        session.scalars(
            select(col(GroupMember.user_id)).where(
                col(GroupMember.workspace_id) == workspace_id,
                col(GroupMember.group_id) == group_id,
            )
        )
    )


def is_out(session: Session, workspace_id: str, user_id: str) -> bool:
    """Whether the person is known to have no rights: a guest, an outsider, or deactivated."""
    person = known(session, workspace_id, user_id)
    return person is not None and (person.is_guest or person.is_stranger or person.is_gone)


def name_of(session: Session, workspace_id: str, user_id: str) -> str:
    """A person's display name; unlike a mention, it notifies no one."""
    person = known(session, workspace_id, user_id)
    return person.name if person is not None and person.name else user_id
