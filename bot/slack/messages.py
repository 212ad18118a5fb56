"""The messages Slack must show: one row per message, kept up to date by the sender."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol

import msgspec
from sqlalchemy import (
    JSON,
    Index,
    UniqueConstraint,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import aliased
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment, new_id
from bot.database.forgetting import MOST_ROWS
from bot.database.prepared import Prepared
from bot.database.topics import touch
from bot.database.upsert import Upsert
from bot.slack.card import Button, Card
from bot.slack.files import MessageDocument, MessageFile
from bot.slack.markup import Markup

TOPIC = "messages"
CARD = "card"
_REFRESH = timedelta(seconds=30)
_KEPT = timedelta(days=30)
_REFRESHES_PER_MINUTE = 25


class Message(SQLModel, table=True):
    """One message, unique by subject, purpose and channel.

    A card (`purpose` "card") is rendered whenever `wants` is ahead of `shown`; any other
    purpose is posted once with its `content` and `buttons`, after `parent_id` has a timestamp.
    `ts` and `place` are its position in Slack; `posting_since` is set while the outcome of a post
    is unknown.

    `digest` is that of the content shown or being posted. `detour` is the place it is posted to
    (0 its channel, 1 the admins' channel, 2 the owner's direct messages; 3 the thread of its
    card, for one whose `channel` is a person) and `trouble` says why; a dead message found no
    place. `plainness` says which forms of charts Slack rejected. `card_link` is the link to the
    card of a direct message, empty if there is none. A direct message with a `team` is posted only
    to a person who may still read that team's runs.
    `posting_since`, `not_before` and `shown_at` are database time, which no playground shifts.
    """

    __tablename__: ClassVar[Any] = "messages"
    __table_args__ = (
        UniqueConstraint("subject_kind", "subject_id", "purpose", "channel"),
        Index(
            "ix_messages_open",
            "not_before",
            postgresql_where=text("wants > shown"),
            sqlite_where=text("wants > shown"),
        ),
        Index(
            "ix_messages_live",
            "live",
            postgresql_where=text("live IS true"),
            sqlite_where=text("live IS 1"),
        ),
        Index("ix_messages_position", "ts", "place"),
    )

    id: str = Field(default_factory=new_id, primary_key=True)
    workspace_id: str
    subject_kind: str
    subject_id: str
    purpose: str
    channel: str
    owner: str | None = None
    parent_id: str | None = Field(default=None, foreign_key="messages.id")
    broadcast: bool = False
    content: list[str] | None = Field(default=None, sa_type=JSON)
    buttons: list[dict[str, Any]] | None = Field(default=None, sa_type=JSON)
    created_at: datetime = Field(sa_type=Moment)
    live: bool = False
    wants: int = 1
    shown: int = 0
    place: str | None = None
    ts: str | None = None
    posting_since: datetime | None = Field(default=None, sa_type=Moment)
    not_before: datetime | None = Field(default=None, sa_type=Moment)
    attempts: int = 0
    detour: int = 0
    trouble: str | None = None
    is_dead: bool = False
    is_reposted: bool = False
    digest: str | None = None
    shown_at: datetime | None = Field(default=None, sa_type=Moment)
    plainness: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    card_link: str | None = None
    team: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether it is for a person alone, by direct message."""
        return self.channel.startswith(("U", "W"))


# Built once: that takes longer than to run them.
_SHOW = Upsert(
    Message,
    ("subject_kind", "subject_id", "purpose", "channel"),
    lambda new: {"wants": col(Message.wants) + 1, "live": new.live},
)
_REFRESH_ALL = Prepared(
    update(Message)
    .where(
        col(Message.subject_id) == bindparam("subject"),
        col(Message.subject_kind) == bindparam("about"),
        col(Message.purpose) == CARD,
    )
    .values(wants=col(Message.wants) + 1, live=bindparam("is_live"))
)
_FIND = Prepared(
    select(col(Message.id)).where(
        col(Message.subject_kind) == bindparam("about"),
        col(Message.subject_id) == bindparam("id"),
        col(Message.purpose) == bindparam("purpose"),
        col(Message.channel) == bindparam("channel"),
    )
)


@dataclass(frozen=True)
class Subject:
    """What a message is about; `workspace_id` is the Slack workspace it lives in."""

    workspace_id: str
    kind: str
    id: str


class Renderer(Protocol):
    """Renders the cards of one kind of subject, from its rows."""

    kind: str

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """What the card says now in this channel; None when the subject is gone."""
        ...


def show_card(
    session: Session,
    subject: Subject,
    channel: str,
    now: datetime,
    *,
    live: bool,
    owner: str | None = None,
) -> None:
    """Creates or refreshes the subject's card in this channel.

    `live` cards share the refresh budget and yield to final ones; `owner` gets the card as a
    direct message where the channel cannot be reached.
    """
    row = {
        "workspace_id": subject.workspace_id,
        "subject_kind": subject.kind,
        "subject_id": subject.id,
        "purpose": CARD,
        "channel": channel,
        "owner": owner,
        "created_at": now,
        "live": live,
    }
    _SHOW(session, row)
    touch(session, TOPIC)


def refresh_cards(session: Session, subject: Subject, *, live: bool) -> None:
    """Refreshes every card of the subject, in all channels."""
    about = {"subject": subject.id, "about": subject.kind, "is_live": live}
    if _REFRESH_ALL(session, about).rowcount:
        touch(session, TOPIC)


@dataclass(frozen=True)
class CardPlacement:
    """The position of a subject's card, and its owner there."""

    channel: str
    owner: str | None


def places_of(session: Session, subject: Subject) -> list[CardPlacement]:
    """The positions of the subject's cards, the oldest first."""
    session.flush()  # one may have been asked for a moment ago
    rows = session.scalars(
        select(Message)
        .where(
            col(Message.subject_id) == subject.id,
            col(Message.subject_kind) == subject.kind,
            col(Message.purpose) == CARD,
        )
        .order_by(col(Message.id))
    )
    return [CardPlacement(row.channel, row.owner) for row in rows]


@dataclass(frozen=True)
class ThreadMessage:
    """A message posted once: in the thread of the subject's card, or on its own.

    With `to` it is a direct message to that person, with a link to the card if it is `in_thread`.
    With `team` it is not posted if that person may not read the team's runs when it is due.
    """

    purpose: str
    lines: Sequence[Markup]
    in_thread: bool = True
    broadcast: bool = False
    owner: str | None = None
    buttons: Sequence[Button] = ()
    to: str | None = None
    team: str | None = None


def post_once(
    session: Session, subject: Subject, channel: str, note: ThreadMessage, now: datetime
) -> bool:
    """Posts `note` once, after the card it belongs to; False if it was posted before."""
    place = note.to or channel
    if find(session, subject, note.purpose, place):
        return False
    message = _new(subject, note.purpose, place, now)
    message.content = list(note.lines)
    message.buttons = msgspec.to_builtins(note.buttons) or None
    message.broadcast = note.broadcast
    message.owner = note.owner
    message.team = note.team
    message.parent_id = find(session, subject, CARD, channel) if note.in_thread else None
    session.add(message)
    touch(session, TOPIC)
    return True


def find(session: Session, subject: Subject, purpose: str, channel: str) -> str | None:
    """The id of the message, None if there is none."""
    session.flush()  # it may have been said a moment ago
    sought = {"about": subject.kind, "id": subject.id, "purpose": purpose, "channel": channel}
    found = _FIND(session, sought).rows
    return str(found[0][0]) if found else None


def subject_at(session: Session, place: str, ts: str) -> Subject | None:
    """What the message at this position in Slack is about; None if it is none of ours."""
    row = session.scalars(
        select(Message).where(col(Message.place) == place, col(Message.ts) == ts).limit(1)
    ).first()
    return Subject(row.workspace_id, row.subject_kind, row.subject_id) if row else None


def is_coming(session: Session, subject: Subject, purpose: str) -> bool:
    """Whether the newest message of a purpose that begins so is not in Slack yet, but will be."""
    newest = session.scalars(
        select(Message)
        .where(
            col(Message.subject_kind) == subject.kind,
            col(Message.subject_id) == subject.id,
            col(Message.purpose).startswith(purpose, autoescape=True),
        )
        .order_by(col(Message.id).desc())
        .limit(1)
    ).first()
    return newest is not None and newest.ts is None and not newest.is_dead


def refresh_interval(session: Session) -> timedelta:
    """How often a live card may be refreshed so that all of them fit Slack's budget."""
    live = session.scalar(
        select(func.count()).select_from(Message).where(col(Message.live).is_(True))
    )
    return max(_REFRESH, timedelta(minutes=(live or 0) / _REFRESHES_PER_MINUTE))


def doubt_all(session: Session, now: datetime) -> None:
    """Trusts nothing that rows of a backup say of Slack.

    What they say was not posted is looked for there first; recent cards are shown again.
    """
    is_posted, is_dead = col(Message.ts).is_not(None), col(Message.is_dead)
    unposted = update(Message).where(
        ~is_posted,
        ~is_dead,
        col(Message.wants) > col(Message.shown),
        col(Message.posting_since).is_(None),
        col(Message.id).not_in(select(col(MessageDocument.message_id))),  # found by their file
    )
    # The time since which it may be there; a playground's clock may be ahead of the database's.
    since = case((col(Message.created_at) > now, now), else_=col(Message.created_at))
    session.connection().execute(unposted.values(posting_since=since, not_before=None))
    is_recent = or_(col(Message.live), col(Message.shown_at) > now - _KEPT)
    cards = update(Message).where(col(Message.purpose) == CARD, is_posted, ~is_dead, is_recent)
    session.connection().execute(cards.values(wants=col(Message.wants) + 1))


def forget(session: Session, now: datetime) -> None:
    """Deletes the notes on subjects that ended 30 days ago; their cards stay.

    A subject has ended when no card of it is live and nothing new was said about it.
    """
    longest_kept = now - _KEPT
    other = aliased(Message)
    goes_on = (
        select(col(other.id))
        .where(col(other.subject_kind) == col(Message.subject_kind))
        .where(col(other.subject_id) == col(Message.subject_id))
        .where(or_(col(other.live).is_(True), col(other.created_at) >= longest_kept))
    )
    is_said = or_(col(Message.wants) <= col(Message.shown), col(Message.is_dead).is_(True))
    is_old = col(Message.created_at) < longest_kept
    chosen = select(col(Message.id)).where(
        col(Message.purpose) != CARD, is_old, is_said, ~goes_on.exists()
    )
    ids = session.scalars(chosen.limit(MOST_ROWS)).all()
    for table in (MessageFile, MessageDocument):
        session.connection().execute(delete(table).where(col(table.message_id).in_(ids)))
    session.connection().execute(delete(Message).where(col(Message.id).in_(ids)))


def _new(subject: Subject, purpose: str, channel: str, now: datetime) -> Message:
    return Message(
        workspace_id=subject.workspace_id,
        subject_kind=subject.kind,
        subject_id=subject.id,
        purpose=purpose,
        channel=channel,
        created_at=now,
    )
